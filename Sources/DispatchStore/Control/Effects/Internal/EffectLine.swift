/// The runs of an effect among which its policy holds: those of one key, or all.
struct EffectLine<Run: AnyObject> {
  /// The treatment of a new run.
  enum Arrival {
    /// The run begins, and the one before it is cancelled, if there is one.
    case begin(cancelling: Run?)
    /// The run waits for its turn.
    case wait
    /// The run is skipped.
    case skip
  }

  /// The number of runs that go on at once, at most.
  private let bound: Int
  private var running = WaitingLine<Run>()
  /// Runs that wait for their turns: none unless `bound` are running.
  private var waiting = WaitingLine<Run>()
  /// Runs that wait before another attempt, without a turn.
  private var pausing = WaitingLine<Run>()

  init(bound: Int = .max) { self.bound = bound }

  var isEmpty: Bool { running.isEmpty && waiting.isEmpty && pausing.isEmpty }
  var runCount: Int { running.count + pausing.count }
  var waitingCount: Int { waiting.count }
  /// The runs that have a turn, in the order in which they got it.
  var runs: [Run] { running.all }

  /// The runs that have a turn, and those that pause.
  var begunRuns: [Run] { running.all + pausing.all }

  mutating func arrive(_ run: Run, _ policy: EffectPolicy) -> Arrival {
    if policy == .unlessRunning, !isEmpty { return .skip }
    // Earlier runs were cancelled when the last one came.
    let former = policy == .latest ? running.last : nil
    return takeTurn(run) ? .begin(cancelling: former) : .wait
  }

  /// Gives a run its turn, or lets it wait for one.
  private mutating func takeTurn(_ run: Run) -> Bool {
    guard running.count < bound else {
      waiting.append(run)
      return false
    }
    running.append(run)
    return true
  }

  /// Removes a run that has ended.
  ///
  /// Returns the one that has its turn now, and is to begin.
  mutating func ended(_ run: Run) -> Run? {
    guard running.remove(run) else {
      if !waiting.remove(run) { _ = pausing.remove(run) }
      return nil
    }
    guard let next = waiting.popFirst() else { return nil }
    running.append(next)
    return isPlanted(.lostUnit) ? nil : next
  }

  /// Lets a running run pause; returns the one that has its turn now, and is to begin.
  mutating func pause(_ run: Run) -> Run? {
    guard running.contains(run) else { return nil }
    pausing.append(run)
    return ended(run)
  }

  /// Ends the pause of a run.
  ///
  /// Returns whether the run begins: false if it has to wait for a turn, or its pause was ended before.
  mutating func endPause(_ run: Run) -> Bool { pausing.remove(run) && takeTurn(run) }

  /// Lets a run of a long-lived effect begin once no other one runs; returns the runs to be cancelled.
  mutating func restart(_ run: Run) -> (Arrival, former: [Run]) {
    let former = takeAll()
    return (arrive(run, .serial), former)
  }

  /// Takes the waiting and pausing runs, so that they never begin; returns these, and the running ones after them.
  mutating func takeAll() -> [Run] { takeWaiting() + takePausing() + runs }

  /// Takes the waiting runs.
  mutating func takeWaiting() -> [Run] {
    defer { waiting = WaitingLine() }
    return waiting.all
  }

  /// Takes the pausing runs.
  mutating func takePausing() -> [Run] {
    defer { pausing = WaitingLine() }
    return pausing.all
  }
}

/// A line that runs of several threads share, kept by these as it keeps them.
final class SharedEffectLine: Sendable {
  /// The place in the order in which the effect's lines came.
  let number: Int
  let runs: Locked<EffectLine<EffectRun>>
  private let place: KeyedPlace

  init(_ number: Int, bound: Int, at place: KeyedPlace) {
    (self.number, self.place) = (number, place)
    runs = Locked(EffectLine(bound: bound))
  }
}
