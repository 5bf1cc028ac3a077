"""When does order matter? All orders of five tasks with each head and each strategy against forgetting. Ours.

The cells, a data set with a head and a strategy each, are those of `reproduction/atlas.py`. Fixed before a result of
any cell was looked at:

- Questions. How much does accuracy at the end depend on the order, and how much of that is the order's and not the
  seed's? Do replay (of 5, 20 and 100 examples a class), EWC and distillation (lwf), or a head for each task, make it
  matter less? Does it matter less where more is kept? Do tables of single tasks still say which orders are good, and
  is the score or the error the better objective where retention is above one half? What do a plan from a pilot and
  each rule earn? How far is the best order from mixing all tasks (joint)? And what helps more, replay or the best order?
- Truth: mean test accuracy of all tasks after the last one, in percent; with all classes in one softmax the whole of
  them compete. A gain is in points over the mean of all orders of the same task set and seed.
- Spread: the standard deviation of the accuracy over the orders of a task set. What two seeds share of it is their
  covariance over orders, and the rest is the seed's; variances are averaged over task sets, then the root is taken.
- Order matters where the order that is best with one seed earns more than `MATTERS` = 1 point with the other.
- Retention: one number for a cell, from the states after prefixes (`reproduction/law_retention.py`).
- Predictions are made from one seed and judged by the other, both ways round, and the two count half each:
      law                   its score, the mean knowledge that it predicts, from tables of single tasks; the retention is
                            that of the cell's other task sets
      law, error            minus the sum of squares, the paper's objective, with the same table and retention
      last row sum, row-sums, periphery-to-core, max-path, closed form: from the same tables, as in `law`
      last pair             the mean knowledge after learning only the last two tasks, in their order
      pairs                 for all pairs in an order, what the two know when they are all that is learned
      another run           the accuracy of the same order with the other seed
      another run, ending   its mean over the orders that end with the same two tasks
  r^2 and rank correlations are over the orders of a task set; an order that a prediction chooses earns a gain.
- Pilots: the law's shrunken table, and each rule, from 1 % and 10 % of a task's images. The cells of Fashion-MNIST are
  trained on a tenth of them: 10 % are the training images themselves, tested on themselves, and 1 % a tenth of these.
- Score or error: the rank correlation of the law's score with accuracy, minus that of minus its error, in the cells
  with retention above `RETAINED` = 0.5 and one head or all classes in one; means over these cells, within a task set.
  With a head for each task the tables say nothing of the other heads, so these cells do not answer it.
- Comparisons of cells are within the task sets that they share: differences of what two seeds share of the spread, of
  mean accuracies, and over all cells of a data set the rank correlation of retention and shared spread.
- Intervals are 95 %, over task sets: Student's t with the standard error of the jackknife, which does not become too
  narrow with a few task sets as resampling does. Claims about fewer than `min_sets` = 3 task sets are not tested.
- Twenty tasks have one seed and 60 random orders: no split into order and seed, and predictions from the same seed.
"""
