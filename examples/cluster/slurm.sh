#!/usr/bin/env bash
# A run on several machines of a SLURM cluster. Ray's own launcher starts one Ray on all of them, runs the command on the
# first, and ends Ray with it. The store and the data folder are on a file system that the first machine sees; the
# others get the data set from it through Ray.
#
#   sbatch --nodes=8 examples/cluster/slurm.sh reproduction/configs/fashion-mnist.toml results/fashion-mnist.sqlite
#
# The same command again goes on where the time limit ended it. On machines with GPUs add --gpus-per-node=4 to sbatch and
# GPUS_PER_WORKER=1 before it.
#SBATCH --job-name=taskorder
#SBATCH --nodes=4
#SBATCH --exclusive
#SBATCH --ntasks-per-node=1
#SBATCH --time=08:00:00
set -euo pipefail

config=${1:?usage: sbatch slurm.sh CONFIG.toml STORE.sqlite}
store=${2:?usage: sbatch slurm.sh CONFIG.toml STORE.sqlite}
source "${TASKORDER_VENV:-.venv}/bin/activate"

export RAY_USAGE_STATS_ENABLED=0
export RAY_task_oom_retries=2
export RAY_AUTH_MODE=token # who has the token runs code on these machines
[[ -s ~/.ray/auth_token ]] || (umask 077 && ray get-auth-token --generate >/dev/null) # in the home folder, which all share

head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
port=$((20000 + SLURM_JOB_ID % 20000))

# symmetric-run starts the head on the machine of that address, joins the others to it, waits until all are there, and
# runs what follows `--` once, on the head.
srun --ntasks="$SLURM_NNODES" ray symmetric-run --address "$head:$port" --min-nodes "$SLURM_NNODES" -- \
  taskorder run "$config" --store "$store" --ray auto \
  --cpus-per-worker "${CPUS_PER_WORKER:-1}" --gpus-per-worker "${GPUS_PER_WORKER:-0}"
