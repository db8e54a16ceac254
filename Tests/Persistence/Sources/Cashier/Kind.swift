import Programs

/// What happens in the rounds of one database.
enum Kind: String, CaseIterable {
  /// One process at a time is killed, and the server crashes now and then.
  case killed
  /// Two or three processes compete for the database.
  case contested
  /// The same, as on several machines: nobody sees that a process has died.
  case apart
  /// The owner stands still for longer than its lease, also in a transaction.
  case stopped
  /// Connections are cut, above all between a commit and its reply.
  case cut
  /// The server is restarted, or a standby or a backup takes its place.
  case replaced
  /// A standby takes the server's place that has each acknowledged group.
  case synchronous

  var processes: ClosedRange<Int> {
    switch self {
    case .killed, .cut, .replaced, .synchronous: 1...1
    case .contested, .apart, .stopped: 2...3
    }
  }

  var lease: Duration { self == .apart || self == .stopped ? .seconds(1) : .seconds(5) }

  func drawEnd(_ random: inout SeededGenerator) -> End {
    let line = Int.random(in: 2...400, using: &random)
    let time = Duration.microseconds(Int.random(in: 0...300_000, using: &random))
    let early = End.early(.microseconds(Int.random(in: 0...60_000, using: &random)))
    let number = Int.random(in: 0..<16, using: &random)
    switch (self, number) {
    case (.replaced, 0...2): return .restart("fast", line: line / 2)
    case (.replaced, 3...5): return .restart("immediate", line: line / 2)
    case (.replaced, _):
      return .replace(
        line: line / 4 + 1, isStandby: number % 2 == 0, isQuiet: number > 12,
        gap: Int.random(in: 0...60, using: &random))
    case (.synchronous, _):
      let gap = Int.random(in: 0...60, using: &random)
      return .replace(line: line / 4 + 1, isStandby: true, isQuiet: false, gap: gap)
    case (.stopped, 0...5): return .stop(time, holdsCommit: true)
    case (.stopped, 6...11): return .stop(time, holdsCommit: false)
    case (.contested, 9...14): return .terminate(line)
    case (.cut, 0...11): return .line(line)
    case (.cut, 12): return .drain(line)
    case (_, 0...1): return early
    case (_, 2...7): return .time(time)
    case (_, 8...14): return .line(line)
    default: return .drain(line / 4 + 2)
    }
  }
}

/// How a run of the service ends.
enum End {
  /// A process is killed, perhaps while it opens and loads, after a time.
  case early(Duration)
  /// The owner is killed after a time of work.
  case time(Duration)
  /// The owner is killed at a line that it prints.
  case line(Int)
  /// The owner is drained after a number of lines.
  case drain(Int)
  /// The owner gets SIGTERM after a number of lines.
  case terminate(Int)
  /// The owner stands still after a time of work, perhaps with a commit on its way to the server.
  case stop(Duration, holdsCommit: Bool)
  /// The server is restarted at a line; the owner is killed some lines later.
  case restart(String, line: Int)
  /// A copy of the server, made at a line, takes its place some lines later.
  case replace(line: Int, isStandby: Bool, isQuiet: Bool, gap: Int)
  /// Nobody stands still, and all that did have noticed that they are not the owner any longer.
  case settled
  /// Drained once all is done.
  case finish
}

/// How long nobody served.
struct Pauses {
  /// After a kill, after one that nobody sees, after a stop, and after an orderly end.
  enum Cause: String, CaseIterable { case killed, apart, stopped, ended }

  /// In seconds: the pause, and the part of it in which the new owner loaded.
  private var all: [Cause: [(pause: Double, loading: Double)]] = [:]

  mutating func add(_ cause: Cause, _ pause: Double, loading: Double) {
    all[cause, default: []].append((pause, loading))
  }

  mutating func add(_ other: Pauses) { all.merge(other.all) { $0 + $1 } }

  /// A line for each cause: the number, the median and the longest, without loading and with it.
  var lines: [String] {
    Cause.allCases.compactMap { cause in
      guard let pauses = all[cause] else { return nil }
      func spread(_ values: [Double]) -> String {
        let sorted = values.sorted()
        let shown = [0, sorted.count / 4, sorted.count / 2, sorted.count * 3 / 4, sorted.count - 1]
        return shown.map { "\(Int((sorted[$0] * 1_000).rounded()))" }.joined(separator: " ")
      }
      return """
        take-over, \(cause): \(pauses.count), ms until the next owner \(spread(pauses.map { $0.pause - $0.loading })), \
        its loading \(spread(pauses.map(\.loading))), both \(spread(pauses.map(\.pause)))
        """
    }
  }
}
