import pytest

pytest.importorskip("sklearn")
from sklearn.linear_model import LogisticRegression, Perceptron, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier

from taskorder.learners import SklearnLearner, score


def test_naive_bayes_counts_so_order_cannot_matter(digits):
    learner = SklearnLearner(GaussianNB(var_smoothing=0.1), epochs=1)
    losses = []
    for a, b in (digits[:2], digits[1::-1]):
        model = learner.fit(learner.fit(learner.make(0), a), b)
        losses.append([learner.loss(model, task) for task in digits])
    assert losses[0] == pytest.approx(losses[1], rel=1e-9)
    assert learner.accuracy(model, digits[0]) > 0.8


def test_without_probabilities_the_loss_is_the_share_of_errors(digits):
    learner = SklearnLearner(Perceptron())
    model = learner.fit(learner.make(0), digits[0])
    for task in digits:
        measured = score(learner, model, task)
        assert measured.loss == pytest.approx(1 - measured.accuracy)
    assert "no probabilities" in learner.note
    assert SklearnLearner(SGDClassifier(loss="log_loss")).note == ""


def test_an_estimator_that_cannot_go_on_is_refused():
    with pytest.raises(ValueError, match=r"classifier with partial_fit, got LogisticRegression. Take MLPClassifier"):
        SklearnLearner(LogisticRegression())
    with pytest.raises(ValueError, match="`epochs` must be a positive integer"):
        SklearnLearner(Perceptron(), epochs=0)


def test_more_epochs_learn_more(digits):
    few, many = (SklearnLearner(MLPClassifier((16,)), epochs) for epochs in (1, 30))
    losses = [learner.loss(learner.fit(learner.make(0), digits[4]), digits[4]) for learner in (few, many)]
    assert losses[1] < losses[0]


def test_the_given_estimator_stays_unfitted(digits):
    estimator = SGDClassifier(loss="log_loss")
    learner = SklearnLearner(estimator)
    learner.fit(learner.make(0), digits[0])
    assert not hasattr(estimator, "classes_")
    assert estimator.random_state is None
