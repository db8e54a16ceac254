/// The options of a dispatch besides its mode: one, or several in an array literal.
///
///     await shop.send(order, options: .timeout(.seconds(2)))
///     await shop.send(order, options: [.timeout(.seconds(2)), .exclusive(order.customer), .retry(attempts: 3)])
///
/// Options in a literal add up. Names, keys, limits and conditions all apply. The soonest time limit counts. Of the
/// options that a dispatch has once, such as `retry`, the last one counts.
public struct DispatchOptions: Sendable, ExpressibleByArrayLiteral {
  /// The dispatches to wait for first, however they end; in a lane, the dispatch keeps its position.
  @usableFromInline var after: [DispatchHandle]
  /// Whether a sequence continues after an action that failed, was vetoed or cancelled.
  @usableFromInline var continuesOnFailure: Bool
  /// The admission control of the dispatch; nil for most.
  @usableFromInline var control: DispatchAdmission?
  /// The time limit in nanoseconds; `Int64.max` if none was named, and `unlimited` if it is explicitly without one.
  @usableFromInline var timeLimit: Int64
  /// The nanoseconds of the time limit that have passed, since the task that sends had to wait.
  @usableFromInline var timeSpent: Int64

  /// Makes no options, as `[]` does: the dispatch waits for no other, and a sequence ends on failure.
  @inlinable
  package init() {
    after = []
    continuesOnFailure = false
    control = nil
    timeLimit = .max
    timeSpent = 0
  }

  /// Whether the dispatch has admission control or says something about its time limit.
  @inlinable var isControlled: Bool { control != nil || timeLimit != .max }

  @inlinable static var unlimited: Int64 { .max - 1 }

  /// Makes options that have all of these options.
  @inlinable
  public init(arrayLiteral options: DispatchOptions...) {
    self.init()
    if !options.isEmpty { add(options) }
  }

  /// Adds options: see the type.
  @usableFromInline
  mutating func add(_ options: [DispatchOptions]) {
    for option in options {
      if !option.after.isEmpty { after += option.after }
      continuesOnFailure = continuesOnFailure || option.continuesOnFailure
      timeLimit = min(timeLimit, option.timeLimit)
    }
    let controlled = options.drop { $0.control == nil }
    control = controlled.first?.control?.adding(controlled.dropFirst())
  }

  /// The dispatches in `after` that have not ended.
  @usableFromInline
  var unended: [Dispatch] { after.compactMap(\.dispatch).filter { !$0.hasEnded } }

  /// Waits for these dispatches first, however they end.
  public static func after(_ handles: DispatchHandle...) -> DispatchOptions { after(handles) }

  /// Waits for these dispatches first, however they end.
  public static func after(_ handles: [DispatchHandle]) -> DispatchOptions {
    var options = DispatchOptions()
    options.after = handles
    return options
  }

  /// Continues a sequence after an action that failed, was vetoed or cancelled.
  public static var continuingOnFailure: DispatchOptions {
    var options = DispatchOptions()
    options.continuesOnFailure = true
    return options
  }
}
