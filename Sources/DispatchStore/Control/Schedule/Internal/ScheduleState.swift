/// Scheduled actions in the order of their times, without threads and without a clock.
///
/// Times of the clock and dates have a heap each, because setting the date changes the order between them.
struct ScheduleState<Member> {
  struct Entry {
    let member: Member
    let name: String?
    var due: ScheduleTime
    /// Nil if it begins once.
    var repetition: Repetition?
    /// The place in the order in which entries came that have waited, from 1 on.
    fileprivate(set) var number = 0
  }

  struct Token: Equatable {
    fileprivate let isDate: Bool
    fileprivate let timer: TimerToken
  }

  /// Whether an entry may wait here.
  enum Waiting {
    case never
    case untilItsTime
    /// Also if its time has come: it begins from the timer, after its caller has gone on.
    case always
  }

  enum Arrival {
    /// The time of the entry has come; the number is for the rows of earlier ones of its name.
    case begins(replacing: Entry?, number: Int)
    case waits(Token, replacing: Entry?, number: Int)
    /// The entry would have to wait, and may not; nothing has changed.
    case refused
    /// An earlier process has left the entry, and it was cancelled or replaced meanwhile; nothing has changed.
    case outdated
    /// The schedule is closed; the number is for the row of an entry that is left to the next process.
    case closed(number: Int)
  }

  /// The longest time between two looks at the date, which may jump unnoticed.
  var longestPause: Int64 = 30_000_000_000

  private var isOpen = true
  private var elapsed = TimerHeap<Int64, Entry>()
  private var dates = TimerHeap<Int64, Entry>()
  /// The pending entries with names.
  private var names: [String: Token] = [:]
  /// The names of repeating schedules whose last run has not ended.
  private var running: Set<String> = []
  private var lastNumber = 0

  var entries: [Entry] { elapsed.payloads + dates.payloads }
  var count: Int { elapsed.count + dates.count }

  /// Adds an entry, in place of the one with its name.
  mutating func arrive(
    _ entry: Entry, at moment: Moment, _ waiting: Waiting = .untilItsTime
  ) -> Arrival {
    guard isOpen else {
      lastNumber += 1
      return .closed(number: lastNumber)
    }
    let begins = entry.repetition == nil && waiting != .always && entry.due.hasCome(at: moment)
    guard begins || waiting != .never else { return .refused }
    let replaced =
      isPlanted(.replacedBegins) ? nil : entry.name.flatMap { cancel($0) }
    lastNumber += 1
    if begins { return .begins(replacing: replaced, number: lastNumber) }
    var entry = entry
    entry.number = lastNumber
    return .waits(insert(entry), replacing: replaced, number: lastNumber)
  }

  private mutating func insert(_ entry: Entry) -> Token {
    let token =
      switch entry.due {
      case .elapsed(let time): Token(isDate: false, timer: elapsed.insert(entry, at: time))
      case .date(let time): Token(isDate: true, timer: dates.insert(entry, at: time))
      }
    if let name = entry.name { names[name] = token }
    return token
  }

  /// Removes a pending entry; does nothing if its time has come.
  mutating func remove(_ token: Token) -> Entry? {
    let entry = token.isDate ? dates.remove(token.timer) : elapsed.remove(token.timer)
    if let name = entry?.name, names[name] == token { names.removeAndShrink(name) }
    return entry
  }

  func entry(named name: String) -> Entry? {
    names[name].flatMap { $0.isDate ? dates[$0.timer] : elapsed[$0.timer] }
  }

  mutating func cancel(_ name: String) -> Entry? {
    names[name].flatMap { remove($0) }
  }

  /// Removes the entries whose times have come, and sets the next times of repeating ones.
  ///
  /// - Returns: Those that begin now, in the order of their times.
  mutating func takeDue(at moment: Moment) -> [Member] {
    var due = elapsed.takeDue(at: moment.elapsed) + dates.takeDue(at: moment.unix)
    // Stable: with equal times, each heap keeps its own order.
    due.sort { $0.due.unix(at: moment) < $1.due.unix(at: moment) }
    return due.compactMap { begin($0, at: moment) ? $0.member : nil }
  }

  private mutating func begin(_ entry: Entry, at moment: Moment) -> Bool {
    guard let name = entry.name else { return true }
    guard let repetition = entry.repetition, case .elapsed(let time) = entry.due else {
      names.removeAndShrink(name)
      return true
    }
    let (runs, next) = repetition.advance(from: time, at: moment.elapsed)
    var entry = entry
    entry.due = .elapsed(next)
    _ = insert(entry)
    guard runs else { return false }
    return running.insert(name).inserted || isPlanted(.overlappingTicks)
  }

  /// Allows the next run of a repeating schedule.
  mutating func runEnded(_ name: String) { running.remove(name) }

  /// Accepts no further entry.
  ///
  /// Returns the pending ones.
  mutating func close() -> [Member] {
    defer { (isOpen, elapsed, dates, names) = (false, TimerHeap(), TimerHeap(), [:]) }
    return entries.map(\.member)
  }

  /// Returns the time of the clock at which something may be due; nil if nothing ever is.
  mutating func nextLook(at moment: Moment) -> Int64? {
    var look = elapsed.earliest() ?? .max
    if let date = dates.earliest(), date != .max {
      let (left, overflows) = date.subtractingReportingOverflow(moment.unix)
      let pause = overflows ? longestPause : min(max(left, 0), longestPause)
      look = min(look, moment.elapsed.addingClamped(date > moment.unix ? pause : 0))
    }
    return look == .max ? nil : look
  }
}
