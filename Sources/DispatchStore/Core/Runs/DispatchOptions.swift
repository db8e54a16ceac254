/// The options of a dispatch besides its mode.
public struct DispatchOptions: Sendable {
  /// The dispatches to wait for first, however they end; in a lane, the dispatch keeps its position.
  public var after: [DispatchHandle]
  /// Whether a sequence continues after an action that failed, was vetoed or cancelled.
  public var continuesOnFailure: Bool
  /// The admission control of the dispatch; nil for most.
  @usableFromInline var control: DispatchAdmission?
  /// The time limit in nanoseconds; `Int64.max` if there is none.
  @usableFromInline var timeLimit: Int64

  /// Makes options.
  ///
  /// By default the dispatch waits for no other, and a sequence ends on failure.
  @inlinable
  public init(after: [DispatchHandle] = [], continuesOnFailure: Bool = false) {
    self.after = after
    self.continuesOnFailure = continuesOnFailure
    control = nil
    timeLimit = .max
  }

  /// Whether the dispatch has admission control or a time limit.
  @inlinable var isControlled: Bool { control != nil || timeLimit != .max }

  /// The dispatches in `after` that have not ended.
  @usableFromInline
  var unended: [Dispatch] { after.compactMap(\.dispatch).filter { !$0.hasEnded } }

  /// Waits for these dispatches first, however they end.
  public static func after(_ handles: DispatchHandle...) -> DispatchOptions {
    DispatchOptions(after: handles)
  }

  /// Waits for these dispatches first, however they end.
  public static func after(_ handles: [DispatchHandle]) -> DispatchOptions {
    DispatchOptions(after: handles)
  }

  /// Continues a sequence after an action that failed, was vetoed or cancelled.
  public static var continuingOnFailure: DispatchOptions {
    DispatchOptions(continuesOnFailure: true)
  }
}
