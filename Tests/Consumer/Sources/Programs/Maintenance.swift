import DispatchStore

/// A middleware that vetoes: while the bank is closed, no transfer reaches any store.
final class Maintenance: Middleware {
  func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) -> MiddlewareVerdict {
    action is Transfer ? .veto(reason: "closed for maintenance") : .pass
  }
}

func transferDuringMaintenance(in bank: Bank) async -> String? {
  let maintenance = Maintenance()
  bank.dispatcher.register(middleware: maintenance)
  defer { bank.dispatcher.unregister(middleware: maintenance) }
  let result = await bank.transfer(1, from: "ann", to: "bob")
  return result["accounts"].veto?.reason
}
