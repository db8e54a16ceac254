/// The runs of an effect among which its policy holds: those of one key, or all.
struct EffectLine<Run: AnyObject> {
  /// The treatment of a new run.
  enum Arrival {
    /// The run begins, and these are cancelled.
    case begin(cancelling: [Run])
    /// The run waits for its turn.
    case wait
    /// The run is skipped.
    case skip
  }

  /// The runs that go on, by the order in which they began.
  private var running: [UInt64: Run] = [:]
  private var numbers: [ObjectIdentifier: UInt64] = [:]
  private var last: UInt64 = 0
  private var waiting = FIFO<Run>()

  var isEmpty: Bool { running.isEmpty && waiting.isEmpty }
  var runCount: Int { running.count }
  /// The runs that go on, in the order in which they began.
  var runs: [Run] { running.sorted { $0.key < $1.key }.map(\.value) }

  mutating func arrive(_ run: Run, _ policy: EffectPolicy) -> Arrival {
    if !isEmpty {
      switch policy {
      case .concurrent, .latest: break
      case .unlessRunning: return .skip
      case .serial:
        waiting.append(run)
        return .wait
      }
    }
    let former = policy == .latest ? runs : []
    begin(run)
    return .begin(cancelling: former)
  }

  private mutating func begin(_ run: Run) {
    last += 1
    running[last] = run
    numbers[ObjectIdentifier(run)] = last
  }

  /// Removes a run that has ended.
  ///
  /// Returns the one that is to begin.
  mutating func ended(_ run: Run) -> Run? {
    guard let number = numbers.removeValue(forKey: ObjectIdentifier(run)) else { return nil }
    running[number] = nil
    guard running.isEmpty, let next = waiting.popFirst() else { return nil }
    begin(next)
    return next
  }

  /// Takes the waiting runs.
  mutating func takeWaiting() -> [Run] {
    var taken: [Run] = []
    while let run = waiting.popFirst() { taken.append(run) }
    return taken
  }
}
