/// A handler whose actions take an operation.
final class OperationHandler<Model: Sendable, Action: ActionType>: TypedHandler<Model, Action>,
  @unchecked Sendable
{
  // because its superclass is
  typealias MakeBlock =
    @Sendable (HandledAction, Action, HandlerStore<Model>) -> OperationBlock<Model, HandledAction>

  private let makeBlock: MakeBlock

  init(_ makeBlock: @escaping MakeBlock) {
    self.makeBlock = makeBlock
    super.init(.operation)
  }

  override func operation(
    for action: HandledAction, in store: HandlerStore<Model>
  ) -> ActionOperation<Model, HandledAction> {
    .make(action, store, makeBlock(action, action.base as! Action, store))
  }
}
