/// What a dispatch asks for beyond its mode.
public struct DispatchOptions: Sendable {
  /// The dispatches whose end is awaited first, however they end; a lane keeps the place meanwhile.
  public var after: [DispatchHandle] = []
  /// Whether `dispatch(actions:)` goes on after an action that failed, was vetoed or cancelled.
  public var continuesOnFailure = false

  /// Neither.
  public init() {}

  /// Those of the dispatches before it that have not ended.
  @usableFromInline
  var unended: [Dispatch] { after.compactMap(\.dispatch).filter { !$0.hasEnded } }

  /// Waits for the end of these dispatches first, however they end.
  public static func after(_ handles: DispatchHandle...) -> DispatchOptions {
    var options = DispatchOptions()
    options.after = handles
    return options
  }

  /// Goes on after an action that failed, was vetoed or cancelled.
  public static var continuingOnFailure: DispatchOptions {
    var options = DispatchOptions()
    options.continuesOnFailure = true
    return options
  }
}
