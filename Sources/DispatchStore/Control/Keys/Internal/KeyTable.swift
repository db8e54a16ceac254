/// The idempotency keys of a dispatcher, or of a database, without threads.
///
/// A key is in flight from the admission of its first dispatch until that has ended. Then it is recorded, or forgotten.
struct KeyTable<Run: AnyObject, Record> {
  enum Entry {
    /// The first dispatch of the key is in flight. Can become recorded.
    case inFlight(Run)
    case recorded(Record, TimerToken)
  }

  private var entries: [String: Entry] = [:]
  /// The recorded keys by the time at which they are forgotten.
  private var expiries = TimerHeap<Int64, String>()
  /// The greatest number of recorded keys.
  var capacity: Int

  init(capacity: Int) { self.capacity = capacity }

  /// The number of recorded keys.
  var count: Int { expiries.count }

  subscript(_ key: String) -> Entry? { entries[key] }

  /// Begins a run, unless the key has an entry, which is returned: then no run is made.
  mutating func begin(_ key: String, _ makeRun: () -> Run) -> Entry? {
    // In place, since the hash of a text takes long.
    func begin(_ entry: inout Entry?) -> Entry? {
      if let entry, !isPlanted(.joinedTooLate) { return entry }
      entry = .inFlight(makeRun())
      return nil
    }
    return begin(&entries[key])
  }

  /// Forgets the key of a run that is not recorded.
  mutating func leave(_ run: Run, _ key: String) {
    if case .inFlight(let present)? = entries[key], present === run { entries[key] = nil }
  }

  /// Records a key until a time, in place of a former entry, which is returned.
  mutating func record(_ record: Record, _ key: String, until time: Int64) -> Entry? {
    let entry = Entry.recorded(record, expiries.insert(key, at: time))
    let former = entries.updateValue(entry, forKey: key)
    if case .recorded(_, let token)? = former { _ = expiries.remove(token) }
    return former
  }

  /// Removes a recorded key; returns its entry.
  mutating func forget(_ key: String) -> Entry? {
    guard case .recorded(_, let token)? = entries[key] else { return nil }
    _ = expiries.remove(token)
    return entries.removeValue(forKey: key)
  }

  /// Removes what has expired, and what would be forgotten next while there is too much.
  mutating func trim(now: Int64) -> [(key: String, entry: Entry)] {
    var keys = expiries.takeDue(at: now)
    while expiries.count > capacity, let key = expiries.takeFirst() { keys.append(key) }
    return keys.compactMap { key in entries.removeValue(forKey: key).map { (key, $0) } }
  }
}
