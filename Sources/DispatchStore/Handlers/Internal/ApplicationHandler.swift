/// A handler that runs outside the store's exclusive section, on the thread that runs the action.
@usableFromInline
final class ApplicationHandler<Model: Sendable, Action: ActionType>: TypedHandler<Model, Action>,
  @unchecked Sendable
{
  // because its superclass is
  @usableFromInline typealias Body = @Sendable (Action, HandlerStore<Model>) throws -> Void
  @usableFromInline typealias Apply =
    @Sendable (UnsafeRawPointer, HandlerStore<Model>) -> ReducerCalls.Answer

  private let body: Body
  private let apply: Apply

  @usableFromInline
  init(_ body: @escaping Body, _ apply: @escaping Apply) {
    self.body = body
    self.apply = apply
    super.init(.application)
  }

  /// Inlinable, so that it is compiled for the model's and the action's own types.
  @inlinable
  convenience init(_ body: @escaping Body) {
    self.init(body) { action, store in
      do {
        try body(action.assumingMemoryBound(to: Action.self).pointee, store)
        return .done
      } catch {
        return .failed(error)
      }
    }
  }

  override func apply(
    _ action: UnsafeRawPointer, _ store: HandlerStore<Model>
  ) -> ReducerCalls.Answer {
    apply(action, store)
  }

  override func operation(
    for action: HandledAction, in store: HandlerStore<Model>
  ) -> ActionOperation<Model, HandledAction> {
    let body = body
    return .make(
      action, store, .returning { try body($0.base as! Action, $1) }, isReduction: true)
  }
}
