"""Ten, twenty and fifty binary tasks of CIFAR-100 with the paper's network: random orders, those of law and rules. Ours.

Question: with many tasks, what do the orders earn that the law of retention and the rules choose, from tables of all
data, from pilots of 10 to 300 images a task, and by a race; for tasks of one size, and where the largest task has 30
times the images of the smallest? Also for the twelve tasks of the table that ships with taskorder.

Fixed before the first of these networks was trained:

- 10 task sets of 10 and of 20 tasks, 4 of 50 tasks, all of numbers from 0 on, and 4 seeds of the twelve tasks; 60 random
  orders of each, and one order of each way to choose (`reproduction/many_runs.py`), all trained with one seed. Tables and
  pilots come from another seed.
- The law has the retention of plain networks for every task, and tables from samples are shrunken (`shrunken_table`).
- Statistic: points of mean accuracy at the end over the mean of the 60 random orders, mean over task sets with a 95 %
  interval over task sets; leads over other ways are differences within a task set. Beside it rank correlations of the
  predictions over the random orders.
- Bounds at 20 tasks of one size: +4.6 points from all data, +3.5 from 300 images a task, +4.3 by a race that learns from
  a quarter of the examples of one training run.
"""
