import Testing

@testable import DispatchStore

@Suite(.timeLimit(.minutes(1)))
struct StartedResultTests {
  struct Pay: ActionType { var failure: DispatchError.Code? }
  struct Unknown: ActionType {}

  @Test(arguments: Way.all)
  func aResultSaysWhetherAHandlerHasStartedWhateverItsError(way: Way) async {
    let dispatcher = Dispatcher()
    dispatcher.register(
      store: Store(identifier: "account", model: 0) {
        On(Pay.self) { balance, pay in
          balance += 1
          if let code = pay.failure { throw DispatchError(code: code, message: "of another one") }
        }
      })
    let paid = await dispatcher.run(Pay(), way)
    #expect(paid.isSuccess && paid.hasStarted)
    let failed = await dispatcher.run(Pay(failure: .limitExceeded), way)
    #expect(failed.errorCode == .limitExceeded && failed.hasStarted)
    let late = await dispatcher.run(Pay(), way, options: .timeout(.zero))
    #expect(late.errorCode == .timedOut && !late.hasStarted)
    #expect(await !dispatcher.run(Unknown(), way).hasStarted)
    dispatcher.close()
    let refused = await dispatcher.run(Pay(), way)
    #expect(refused.errorCode == .dispatcherClosed && !refused.hasStarted)
  }
}
