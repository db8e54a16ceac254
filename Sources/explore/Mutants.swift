import DispatchStore
import DispatchStoreTesting
import Foundation

/// Runs the scenarios against each mutant, and reports whether they catch it.
enum Mutants {
  /// Whether the scenarios caught each mutant.
  ///
  /// Each mutant runs in a separate process, since some crash.
  static func runAll(_ options: Options) -> Bool {
    let caught = Mutant.allCases.filter { run($0, options) }
    Program.say("\(caught.count) of \(Mutant.allCases.count) mutants caught")
    return caught.count == Mutant.allCases.count
  }

  private static func run(_ mutant: Mutant, _ options: Options) -> Bool {
    let process = Process()
    process.executableURL = Bundle.main.executableURL
    let seeds = ["--seeds", "\(options.seeds)", "--from", "\(options.firstSeed)"]
    let programs =
      options.fuzzTime.map { ["--fuzz", "\($0.components.seconds)"] }
      ?? options.scenarios.flatMap { ["--scenario", $0.name] }
    process.arguments = ["--mutant", mutant.rawValue] + seeds + programs
    process.environment = ProcessInfo.processInfo.environment.merging(
      ["SWIFT_BACKTRACE": "enable=no"]) { $1 }
    let errors = Pipe()
    process.standardError = errors
    do {
      try process.run()
    } catch {
      Program.say("\(name(mutant)) could not be run: \(error)")
      return false
    }
    let printed = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationReason == .uncaughtSignal else {
      return process.terminationStatus == 0
    }
    let seed = printed.split(separator: "\n").last { $0.hasPrefix("It crashed") }
    Program.say("\(name(mutant)) caught by a crash: \(seed ?? "the seed is unknown")")
    return true
  }

  /// By scenario: the mutants that it is the likeliest to catch, and that most seeds of most other scenarios miss.
  private static let likeliest: [(scenario: Scenario, mutants: [Mutant])] = [
    (.namedLanes, [.lostStart, .pushToRetired]),
    (.suspendedWaits, [.lostWhileSuspended]),
    (.widening, [.lostWidening, .lostAfterNarrowing]),
    (.laneNames, [.reusedLane, .doubleLane, .lostNamesakes]),
    (.sends, [.takenTwice]),
    (.turns, [.drainOnForeignStack]),
    (.releasedDispatchers, [.releasedDispatcher]),
    (.streams, [.lostBeforeSubscription, .lostElement, .heldByWaitingConsumer]),
    (.caughtUp, [.lostCatchUp]),
    (.groups, [.lostStepEnd, .lostGroupCancel, .lateGroupCancel, .compensatedInOrder]),
    (
      .saving,
      [
        .endBeforeSaved, .readNotSaved, .changeMissed, .endsOutOfOrder, .lostGroup,
        .unitBeforeSaved,
      ]
    ),
    (.failedSaving, [.commitNotLookedUp, .ownerNotCompared, .atomicInTwoGroups]),
    (.persistentReplacing, [.registeredTwice, .lossAcknowledged]),
    (
      .owners,
      [
        .epochNotCompared, .numberReadUnlocked, .groupSentAgain, .servedBeforeLoaded,
        .releasedBeforeDrained, .leaseCountedFromReply,
      ]
    ),
    (.limits, [.lostAlarm, .lostChild]),
    (.deadlines, [.lostDeadline]),
    (.lateTimers, [.unreadClock]),
    (.bounds, [.lostUnit]),
    (.drains, [.earlyDrain]),
    (.exclusion, [.lostGateOpening, .lostCondition, .firstKeyOnly, .neverOvertaking]),
    (.retries, [.lostPauseEnd, .pauseAfterCancel]),
    (.families, [.lostFollowUp]),
    (.effects, [.overlappingEffects]),
    (.rates, [.keptDelayed, .lostTrailing]),
    (.transfers, [.enteredOneByOne, .firstInOneLane]),
    (.lateTransfers, [.behindAllOnceGone]),
    (.atomic, [.undoForgetsElement, .sectionLeftEarly, .locksInStoreOrder, .undoneVersion]),
    (.rateLimits, [.lostToken]),
    (.breakers, [.lostTrial]),
    (.joins, [.joinedTooLate]),
    (.forgottenKeys, [.nextRowRemoved]),
    (.keys, [.keyAtAcknowledgement, .unsavedAnswer]),
    (.outbox, [.effectBeforeSaved, .effectRemovedFirst, .changedKey]),
    (.deadLetters, [.letterReturns]),
    (.removedWork, [.removedWorkRuns, .removedAtEnd]),
    (.registering, [.lateEviction]),
    (.attemptLimits, [.nextAttemptEnds]),
    (.closedWork, [.leftUnseen]),
    (.poison, [.countedLate]),
    (.closing, [.deafToClosing]),
    (.savedSchedules, [.scheduleRemovedFirst, .dueAfterCommit]),
    (.cancelledSchedules, [.cancelledKeepsRow, .olderRowWins, .cancelledUnarranged]),
    (.lateDependencies, [.unseenDependent]),
    (.lateRings, [.lateRing]),
    (.diagnosis, [.lostWatch]),
    (.laneTurns, [.placeNotKept, .latePriorities]),
    (.schedules, [.replacedBegins, .lateSchedule]),
    (.repeating, [.driftingSchedule, .overlappingTicks]),
    (.undo, [.stepTakenEarly, .keptFuture, .joinedOutOfOrder]),
    (.recording, [.readTwice, .travelledBeforeEnd]),
  ]

  /// Whether the scenarios catch a mutant.
  ///
  /// The likeliest scenario goes first, with all seeds. Each pass over the scenarios then runs ten times as many
  /// seeds as the one before, so that a scenario that needs few seeds is not kept waiting by those that need
  /// many.
  static func find(_ mutant: Mutant, _ options: Options) -> Bool {
    let began = ContinuousClock.now
    var runCount = 0
    for (scenarios, seeds) in passes(for: mutant, options) {
      for scenario in scenarios {
        let explorer = Explorer(options.simulation(), mutant: mutant, scenario.body)
        if let failure = explorer.explore(SeedSearch(seeds)) {
          Program.say(
            "\(name(mutant)) caught after \(runCount + failure.runCount) seeds, "
              + "\(Program.seconds(since: began)) s, by \(scenario.name), seed \(failure.seed): "
              + "\(failure.failure.kind.rawValue)")
          return true
        }
        runCount += seeds.count
      }
    }
    Program.say("\(name(mutant)) SURVIVED \(runCount) seeds, \(Program.seconds(since: began)) s")
    return false
  }

  private static func passes(
    for mutant: Mutant, _ options: Options
  ) -> [(scenarios: [Scenario], seeds: Range<UInt64>)] {
    let end = options.firstSeed + options.seeds
    let first = likeliest.first { $0.mutants.contains(mutant) }?.scenario.name
    var passes = [(options.scenarios.filter { $0.name == first }, options.firstSeed..<end)]
    var (next, count) = (options.firstSeed, UInt64(100))
    while next < end {
      let last = options.firstSeed + min(count, options.seeds)
      passes.append((options.scenarios, next..<last))
      (next, count) = (last, count * 10)
    }
    return passes
  }

  private static func name(_ mutant: Mutant) -> String {
    Program.column(mutant.rawValue, 18)
  }
}
