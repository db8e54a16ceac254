/// The saved schedules by name, without threads and without a database.
///
/// The row of a name is that of the latest arrival. Calls from several threads may save their records in another order
/// than they have arrived, and even after the latest one was cancelled. So each call looks, once it has saved its record,
/// whether its schedule was replaced meanwhile, and then removes the record.
struct ScheduleRecords<Record> {
  private var saved: [String: (number: Int, record: Record)] = [:]

  var count: Int { saved.count }

  subscript(_ name: String) -> Record? { saved[name]?.record }

  /// The record of an arrival; nil if that of another one is there.
  subscript(_ name: String, _ number: Int) -> Record? {
    saved[name].flatMap { $0.number == number ? $0.record : nil }
  }

  /// Enters a record, unless that of a later arrival is there; returns the record that it replaces.
  mutating func enter(_ record: Record, _ name: String, _ number: Int) -> Record? {
    let former = saved[name]
    if let former, former.number > number, !isPlanted(.olderRowWins) { return nil }
    saved[name] = (number, record)
    return former?.record
  }

  /// Gives the record of an earlier arrival to a later one.
  mutating func takeOver(_ name: String, by number: Int) {
    if let present = saved[name], present.number < number { saved[name]!.number = number }
  }

  /// Removes the record of an arrival, unless that of another one is there.
  mutating func remove(_ name: String, _ number: Int) -> Record? {
    guard self[name, number] != nil else { return nil }
    return saved.removeValue(forKey: name)?.record
  }
}
