public import Foundation

/// A dispatch that begins later, or a repeating one.
public struct ScheduledAction: Sendable, CustomStringConvertible {
  /// The name by which it is replaced and cancelled.
  public let name: String?
  /// The actions as dispatched; one, unless it is a sequence.
  public let actions: [AnyAction]
  /// The time at which it begins, or begins next, by the dispatcher's clock.
  ///
  /// `Date.distantFuture` if that is later than a clock can say.
  public let due: Date
  /// The time between two runs; nil if it begins once.
  public let interval: Duration?
  /// The only store to run; nil for all that respond.
  public let storeIdentifier: String?
  /// The mode that schedules it.
  public let mode: Dispatcher.Mode
  /// Whether it survives the process.
  public let isSaved: Bool

  /// Nil for a dispatch that has ended, or is about to wait.
  init?(
    _ entry: ScheduleState<ScheduleTable.Member>.Entry, at moment: Moment, _ saved: SavedSchedules?,
    _ delays: DelayedDispatches.Delays
  ) {
    switch entry.member {
    case .repeated(let repeated):
      (actions, storeIdentifier) = ([repeated.action], repeated.storeIdentifier)
      mode = repeated.mode
    case .dispatch(let delay, _):
      // A cancelled dispatch stays in the table until it has ended.
      guard delay.dispatch.isWaiting, let subject = delays[delay.dispatch.id]?.subject
      else { return nil }
      (actions, storeIdentifier) = (subject.actions, subject.storeIdentifier)
      mode = delay.mode
    }
    name = entry.name
    due = Date(unixNanoseconds: entry.due.unix(at: moment))
    interval = entry.repetition.map { .nanoseconds($0.interval) }
    isSaved = entry.name.map { saved?.contains($0) == true } ?? false
  }

  /// Makes that of an action which an earlier process has left, and nobody has resumed.
  init(_ record: ScheduleRecord<any ActionType>) {
    name = record.name
    actions = [record.action]
    due = Date(unixNanoseconds: record.due)
    interval = record.interval.map { .nanoseconds($0) }
    storeIdentifier = record.store
    mode = record.mode.mode
    isSaved = true
  }

  /// The name, the types of the actions, the mode and the time.
  public var description: String {
    let types = actions.prefix(3).map { "\(type(of: $0))" } + (actions.count > 3 ? ["…"] : [])
    let prefix = name.map { "\"\($0)\": " } ?? ""
    let period = interval.map { ", every \($0)" } ?? ""
    return "\(prefix)\(types.joined(separator: ", ")), \(mode), at \(due)\(period)"
  }
}
