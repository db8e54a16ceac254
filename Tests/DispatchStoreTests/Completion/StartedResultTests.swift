import DispatchStoreTesting
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

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func aListThatTimesOutHasStartedIfItsFirstHandlerRuns(mode: Dispatcher.Mode) async {
    let (clock, dispatcher, _) = makeClockedStage()
    let (began, free) = (Latch(), Latch())
    dispatcher.register(middleware: RecordingMiddleware.vetoing("vetoed"))
    let list = dispatcher.dispatch(
      actions: [Script.adds("vetoed"), Script.holds(opening: began, until: free)], mode: mode,
      options: [.continuingOnFailure, .timeout(.seconds(1))])
    await began.opened()
    await clock.pass(.seconds(1))
    let result = await list.result
    #expect(result.errorCode == .timedOut && result.hasStarted)
    #expect(result.steps.map(\.hasStarted) == [false])
    free.open()
    await dispatcher.drain()
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func aListThatTimesOutBeforeItsTurnHasNotStarted(mode: Dispatcher.Mode) async {
    let (clock, dispatcher, _) = makeClockedStage()
    let (began, free) = (Latch(), Latch())
    dispatcher.dispatch(Script.holds(opening: began, until: free), mode: mode)
    await began.opened()
    let list = dispatcher.dispatch(
      actions: [Script.adds("a")], mode: mode, options: .timeout(.seconds(1)))
    await clock.pass(.seconds(1))
    let result = await list.result
    #expect(result.errorCode == .timedOut && !result.hasStarted)
    free.open()
    await dispatcher.drain()
  }
}
