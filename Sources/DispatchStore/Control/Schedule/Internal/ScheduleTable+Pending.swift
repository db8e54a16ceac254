extension ScheduleTable {
  /// A pending entry, with its dispatch as it was made.
  struct Pending {
    let member: Member
    let name: String?
    let unix: Int64
    let interval: Int64?
    /// Nil for a repeating schedule, and for a dispatch that is about to wait or has ended.
    let delayed: DelayedDispatch?
  }

  /// The number of pending entries.
  var count: Int { withSchedule(\.count) }

  var all: [Pending] {
    let (entries, moment) = entries
    return entries.map { entry in
      var delayed: DelayedDispatch?
      // A cancelled dispatch stays in the table until it has ended.
      if case .dispatch(let delay, _) = entry.member, delay.dispatch.isWaiting {
        delayed = delay.subject
      }
      return Pending(
        member: entry.member, name: entry.name, unix: entry.due.unix(at: moment),
        interval: entry.repetition?.interval, delayed: delayed)
    }
  }
}

extension Dispatcher {
  var schedules: ScheduleTable {
    var isNew = false
    func make() -> ScheduleTable {
      isNew = true
      return ScheduleTable(of: self)
    }
    let table = attachment(orAdd: make())
    // A dispatcher that was closed before has not told this table.
    if isNew, isClosed { table.closed(self) }
    return table
  }
}
