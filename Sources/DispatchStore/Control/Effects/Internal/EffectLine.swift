/// The runs of an effect that its policy concerns together: of one key, or all.
struct EffectLine<Run: AnyObject> {
  /// What becomes of a new run.
  enum Arrival {
    /// It begins, and these are cancelled.
    case begin(cancelling: [Run])
    /// It waits for its turn.
    case wait
    /// It does not run.
    case skip
  }

  /// Those that go on, by the order in which they began.
  private var running: [UInt64: Run] = [:]
  private var numbers: [ObjectIdentifier: UInt64] = [:]
  private var last: UInt64 = 0
  private var waiting = FIFO<Run>()

  var isEmpty: Bool { running.isEmpty && waiting.isEmpty }
  var runCount: Int { running.count }
  /// Those that go on, in the order in which they began.
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

  /// A run has ended; the one that is to begin.
  mutating func ended(_ run: Run) -> Run? {
    guard let number = numbers.removeValue(forKey: ObjectIdentifier(run)) else { return nil }
    running[number] = nil
    guard running.isEmpty, let next = waiting.popFirst() else { return nil }
    begin(next)
    return next
  }

  /// Takes those that wait.
  mutating func takeWaiting() -> [Run] {
    var taken: [Run] = []
    while let run = waiting.popFirst() { taken.append(run) }
    return taken
  }
}
