"""Which chapters of the contract run at which of our sites, and which of them `make test` leaves to `make test-all`.

Engines that need no server run everything at once. On the others `make test` runs what an engine itself can break;
what is built on top of that follows in `make test-all`. A variant that differs in its transport alone runs the
chapters on transport and fork only; in a cluster every key has its own place, so it keeps all laws of engines but
two: its nodes tell their own addresses, so nothing stands between us and them that could turn silent, or be late.
"""

from fencepost.testing.contract import LAWS, OF_ENGINES, SITES

EMBEDDED = ("memory", "sqlite")
OTHER_TRANSPORT = ("rediss", "redis+unix", "redis+sentinel", "etcds", "consuls")
OTHER_PLACE = ("redis+cluster",)
# Each run of `make soak` has another course of these. On servers `make test` leaves them to `make test-all`.
ADVERSARIES = ("interruption",)
PROXIED = ("late", "deadline")
# They wait for a lease or a time-out to end, to see once more, or in another mode, what quicker tests of their chapter
# have shown. On servers `make test` leaves them to `make test-all`.
WAITING_LONG = (
    "test_a_living_holder_keeps_the_lock_for_longer_than_its_lease",
    "test_a_release_passes_over_a_waiter_whose_lease_has_ended",
    "test_after_a_loss_the_session_opens_another_lease",
    "test_the_token_grows_after_the_holder_was_killed",
    "test_no_message_tells_of_a_longer_time_than_was_waited",
    "test_meetings_and_elections_are_back_in_time_too",
    "test_whoever_reads_beside_a_writer_that_went_on_as_a_reader_outlives_it",
    "test_a_reader_that_dies_makes_way_for_the_writer",
    "test_the_margin_is_how_long_before_that_the_holder_is_told",
    "test_the_permit_of_a_lost_holder_is_free_again",
    "test_a_waiter_behind_one_that_gave_up_still_notices_the_end_of_the_holder",
    "test_whoever_goes_before_a_lower_one_watches_the_holder_and_not_the_lower_one",
    "test_a_higher_one_that_is_cut_off_is_skipped_within_its_own_lease",
    "test_a_killed_higher_one_is_skipped_within_its_own_lease",
    "test_a_higher_one_that_overtook_and_is_killed_as_a_holder_makes_way",
    "test_a_higher_reader_that_joined_and_is_killed_does_not_keep_the_writer_for_longer_than_its_own_lease",
)


def laws_at(scheme: str) -> tuple[str, ...]:
    if scheme in OTHER_TRANSPORT:
        return ("transport", "fork")
    return tuple(law for law in OF_ENGINES if law not in PROXIED) if scheme in OTHER_PLACE else LAWS


def is_quick(scheme: str, law: str, test: str = "") -> bool:
    """Whether `make test` runs the chapter there, or that test of it."""
    if scheme in EMBEDDED:
        return True
    return (
        law in OF_ENGINES
        and law not in ADVERSARIES
        and scheme not in OTHER_TRANSPORT + OTHER_PLACE
        and test not in WAITING_LONG
    )


def schemes_of(law: str) -> list[str]:
    return [scheme for scheme in sorted(SITES) if law in laws_at(scheme)]
