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
    process.arguments =
      [
        "--mutant", mutant.rawValue, "--seeds", "\(options.seeds)", "--from",
        "\(options.firstSeed)", "--workers", "\(options.workers)",
      ]
      + (options.fuzzTime.map { ["--fuzz", "\($0.components.seconds)", "--simulated"] }
        ?? options.scenarios.flatMap { ["--scenario", $0.name] })
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

  /// The scenario that is the likeliest to catch a mutant which most seeds of most scenarios miss.
  private static let likeliest: [Mutant: String] = [
    .lostStart: Scenario.namedLanes.name,
    .lostWhileSuspended: Scenario.suspendedWaits.name,
    .lostWidening: Scenario.widening.name,
    .lostAfterNarrowing: Scenario.widening.name,
    .pushToRetired: Scenario.namedLanes.name,
    .reusedLane: Scenario.laneNames.name,
    .doubleLane: Scenario.laneNames.name,
    .lostNamesakes: Scenario.laneNames.name,
    .takenTwice: Scenario.sends.name,
    .drainOnForeignStack: Scenario.turns.name,
    .releasedDispatcher: Scenario.releasedDispatchers.name,
    .lostBeforeSubscription: Scenario.streams.name,
    .lostElement: Scenario.streams.name,
    .lostCatchUp: Scenario.caughtUp.name,
    .heldByWaitingConsumer: Scenario.streams.name,
    .lostStepEnd: Scenario.groups.name,
    .lostGroupCancel: Scenario.groups.name,
    .lateGroupCancel: Scenario.groups.name,
    .endBeforeSaved: Scenario.saving.name,
    .readNotSaved: Scenario.saving.name,
    .changeMissed: Scenario.saving.name,
    .endsOutOfOrder: Scenario.saving.name,
    .lostGroup: Scenario.saving.name,
    .unitBeforeSaved: Scenario.saving.name,
    .commitNotLookedUp: Scenario.failedSaving.name,
    .ownerNotCompared: Scenario.failedSaving.name,
    .atomicInTwoGroups: Scenario.failedSaving.name,
    .registeredTwice: Scenario.persistentReplacing.name,
    .lossAcknowledged: Scenario.persistentReplacing.name,
    .epochNotCompared: Scenario.owners.name,
    .numberReadUnlocked: Scenario.owners.name,
    .groupSentAgain: Scenario.owners.name,
    .servedBeforeLoaded: Scenario.owners.name,
    .releasedBeforeDrained: Scenario.owners.name,
    .leaseCountedFromReply: Scenario.owners.name,
    .compensatedInOrder: Scenario.groups.name,
    .lostAlarm: Scenario.limits.name,
    .lostDeadline: Scenario.deadlines.name,
    .unreadClock: Scenario.lateTimers.name,
    .lostUnit: Scenario.bounds.name,
    .earlyDrain: Scenario.drains.name,
    .lostChild: Scenario.limits.name,
    .lostGateOpening: Scenario.exclusion.name,
    .lostCondition: Scenario.exclusion.name,
    .firstKeyOnly: Scenario.exclusion.name,
    .neverOvertaking: Scenario.exclusion.name,
    .lostPauseEnd: Scenario.retries.name,
    .pauseAfterCancel: Scenario.retries.name,
    .lostFollowUp: Scenario.families.name,
    .overlappingEffects: Scenario.effects.name,
    .keptDelayed: Scenario.rates.name,
    .enteredOneByOne: Scenario.transfers.name,
    .firstInOneLane: Scenario.transfers.name,
    .behindAllOnceGone: Scenario.lateTransfers.name,
    .undoForgetsElement: Scenario.atomic.name,
    .sectionLeftEarly: Scenario.atomic.name,
    .locksInStoreOrder: Scenario.atomic.name,
    .undoneVersion: Scenario.atomic.name,
    .lostTrailing: Scenario.rates.name,
    .lostToken: Scenario.rateLimits.name,
    .lostTrial: Scenario.breakers.name,
    .joinedTooLate: Scenario.joins.name,
    .nextRowRemoved: Scenario.forgottenKeys.name,
    .keyAtAcknowledgement: Scenario.keys.name,
    .unsavedAnswer: Scenario.keys.name,
    .effectBeforeSaved: Scenario.outbox.name,
    .effectRemovedFirst: Scenario.outbox.name,
    .letterReturns: Scenario.deadLetters.name,
    .removedWorkRuns: Scenario.removedWork.name,
    .removedAtEnd: Scenario.removedWork.name,
    .lateEviction: Scenario.registering.name,
    .nextAttemptEnds: Scenario.attemptLimits.name,
    .leftUnseen: Scenario.closedWork.name,
    .countedLate: Scenario.poison.name,
    .deafToClosing: Scenario.closing.name,
    .changedKey: Scenario.outbox.name,
    .scheduleRemovedFirst: Scenario.savedSchedules.name,
    .cancelledKeepsRow: Scenario.cancelledSchedules.name,
    .olderRowWins: Scenario.cancelledSchedules.name,
    .cancelledUnarranged: Scenario.cancelledSchedules.name,
    .dueAfterCommit: Scenario.savedSchedules.name,
    .unseenDependent: Scenario.lateDependencies.name,
    .lateRing: Scenario.lateRings.name,
    .lostWatch: Scenario.diagnosis.name,
    .placeNotKept: Scenario.laneTurns.name,
    .latePriorities: Scenario.laneTurns.name,
    .replacedBegins: Scenario.schedules.name,
    .lateSchedule: Scenario.schedules.name,
    .driftingSchedule: Scenario.repeating.name,
    .overlappingTicks: Scenario.repeating.name,
    .stepTakenEarly: Scenario.undo.name,
    .keptFuture: Scenario.undo.name,
    .joinedOutOfOrder: Scenario.undo.name,
    .readTwice: Scenario.recording.name,
    .travelledBeforeEnd: Scenario.recording.name,
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
        var explorer = Program.explorer(scenario, options)
        explorer.mutant = mutant
        if let failure = explorer.explore(seeds) {
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
    var passes = [
      (options.scenarios.filter { $0.name == likeliest[mutant] }, options.firstSeed..<end)
    ]
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
