"""The files that start clusters can be read by what reads them."""

import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "cluster"


def parsed(name):
    return pytest.importorskip("yaml").safe_load((FOLDER / name).read_text())


def options_of(command):
    """The options of a `taskorder run` in a text, as the command line understands them."""
    from taskorder.cli import build_parser

    words = command.split("taskorder run", 1)[1].split()
    return build_parser().parse_args(["run", *words])


def test_every_file_is_checked_here():
    assert sorted(path.name for path in FOLDER.iterdir()) == ["kuberay.yaml", "ray_up.yaml", "slurm.sh"]


def test_slurm():
    text = (FOLDER / "slurm.sh").read_text()
    done = subprocess.run(["bash", "-n", str(FOLDER / "slurm.sh")], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    broken = subprocess.run(
        ["bash", "-n"], input=text.replace('"$head:$port"', '"$head:$port'), capture_output=True, text=True
    )
    assert broken.returncode != 0
    command = text.split("-- \\\n", 1)[1].replace("\\\n", " ").replace('"${CPUS_PER_WORKER:-1}"', "1")
    options = options_of(command.replace('"${GPUS_PER_WORKER:-0}"', "0.5"))
    assert (options.address, options.cpus, options.gpus) == ("auto", 1.0, 0.5)


def test_kuberay():
    job = parsed("kuberay.yaml")
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    options = options_of(job["spec"]["entrypoint"])
    assert (options.config, options.store, options.address) == ("/config/run.toml", "/results/run.sqlite", "auto")
    cluster = job["spec"]["rayClusterSpec"]
    head = cluster["headGroupSpec"]["template"]["spec"]
    mounts = {mount["name"]: mount["mountPath"] for mount in head["containers"][0]["volumeMounts"]}
    assert mounts == {"config": "/config", "results": "/results"}
    assert {volume["name"] for volume in head["volumes"]} == set(mounts)
    (workers,) = cluster["workerGroupSpecs"]
    assert workers["minReplicas"] <= workers["replicas"] <= workers["maxReplicas"]


def test_ray_up():
    config = parsed("ray_up.yaml")
    util = pytest.importorskip("ray.autoscaler._private.util")
    util.validate_config(util.prepare_config(config))
    with pytest.raises(Exception, match="cluster_nam"):
        util.validate_config(util.prepare_config({**config, "cluster_nam": "a"}))
