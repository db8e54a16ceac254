import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

struct Buy: ActionType, Codable, Equatable {
  typealias Reply = Int
  var item = "tea"
  var isRefused = false
}

struct BuyInABlock: ActionType {
  typealias Reply = Int
}

struct Unavailable: Error {}

@Suite("Idempotency keys", .timeLimit(.minutes(10)))
struct IdempotencyKeyTests {
  let clock = VirtualClock()
  let dispatcher: Dispatcher
  let shop: Store<[String], HandledAction>

  init() {
    dispatcher = Dispatcher(clock: clock)
    shop = Store(identifier: "shop", model: []) {
      On(Buy.self) { items, buy in
        items.append(buy.item)
        if buy.isRefused { throw Unavailable() }
        return items.count
      }
      Perform(BuyInABlock.self) { _, context in
        try context.updateModel { items in
          items.append("block")
          return items.count
        }
      }
    }
    dispatcher.register(store: shop)
  }

  private func run(
    _ action: some ActionType, _ way: Way, _ options: DispatchOptions
  ) async -> DispatchResult {
    await dispatcher.begin(action: action, way.mode, options, sends: way.sends).value
  }

  @Test(arguments: Way.all)
  func giveARepeatTheRecordedResult(_ way: Way) async throws {
    let first = await run(Buy(), way, .idempotencyKey("key"))
    let log = Recorder<String>()
    dispatcher.register(middleware: RecordingMiddleware("m", to: log))
    for other in Way.all {
      let next = await run(Buy(), other, .idempotencyKey("key"))
      #expect(try next.reply("shop") as Int == 1)
      #expect(next.dispatchID == first.dispatchID && next["shop"].isFinished)
    }
    #expect(shop.model == ["tea"])
    #expect(log.all.isEmpty, "A repeat runs nothing.")
    let block = await run(BuyInABlock(), way, .idempotencyKey(2))
    let again = await run(BuyInABlock(), way, .idempotencyKey(2))
    #expect(block.isSuccess && again.dispatchID == block.dispatchID)
    #expect(shop.model == ["tea", "block"])
  }

  @Test(arguments: Way.all)
  func runTheCompletionOfEachRepeat(_ way: Way) async {
    let ends = Recorder<Bool>()
    // The second may join the first one in flight; the third gets the recorded result.
    for count in [2, 1] {
      let tasks = (0..<count).map { _ in
        dispatcher.begin(action: Buy(), way.mode, .idempotencyKey("key"), sends: way.sends) {
          ends.record($0.isSuccess)
        }
      }
      for task in tasks { #expect(await task.value.isSuccess) }
    }
    #expect(await ends.first(3) == [true, true, true])
  }

  @Test(arguments: Way.all)
  func refuseAnotherAction(_ way: Way) async {
    _ = await run(Buy(), way, .idempotencyKey("key"))
    let others: [(any ActionType, String)] = [
      (Buy(item: "milk"), "another value of it"), (BuyInABlock(), "BuyInABlock"),
    ]
    for (other, name) in others {
      let result = await run(other, way, .idempotencyKey("key"))
      #expect(result.dispatchError?.code == .idempotencyKeyReused)
      let text = "\"key\" was used for Buy, and comes with \(name) now."
      #expect(result.dispatchError?.message.contains(text) == true)
    }
    #expect(shop.model == ["tea"])
  }

  @Test(arguments: Way.all)
  func compareActionsInTheirWrappingAsThemselves(_ way: Way) async {
    let first = await run(HandledAction(Buy()), way, .idempotencyKey("key"))
    #expect(first.isSuccess)
    for other in [HandledAction(Buy(item: "milk")), HandledAction(BuyInABlock())] {
      let result = await run(other, way, .idempotencyKey("key"))
      #expect(result.dispatchError?.code == .idempotencyKeyReused)
    }
    let again = await run(Buy(), way, .idempotencyKey("key"))
    #expect(again.dispatchID == first.dispatchID)
    #expect(shop.model == ["tea"])
  }

  @Test func refuseAnotherActionInFlight() async {
    let free = Latch()
    registerHolds()
    let first = dispatcher.dispatch(action: Hold(free: free), options: .idempotencyKey("key"))
    let other = await dispatcher.send(Buy(), options: .idempotencyKey("key"))
    #expect(other.dispatchError?.code == .idempotencyKeyReused)
    free.open()
    #expect(await first.result.isSuccess)
  }

  private struct Hold: ActionType { let free: Latch }

  private func registerHolds() {
    dispatcher.register(
      store: Store(identifier: "holds", model: 0) {
        Perform(Hold.self) { hold, _ in await hold.free.opened() }
      })
  }

  @Test(arguments: Way.all)
  func forgetFailuresUnlessAsked(_ way: Way) async {
    let refused = Buy(isRefused: true)
    for _ in 0..<2 {
      let result = await run(refused, way, .idempotencyKey("a"))
      #expect(result.error is Unavailable)
    }
    var results: [DispatchResult] = []
    for _ in 0..<2 {
      results.append(await run(refused, way, .idempotencyKey("b", failures: true)))
      #expect(results.last?.error is Unavailable)
    }
    #expect(results[0].dispatchID == results[1].dispatchID)
    #expect(shop.model.isEmpty, "A keyed action that only reduces is atomic.")
  }

  @Test(arguments: Way.all)
  func forgetCancellationsAndErrorsOfTheLibrary(_ way: Way) async {
    let late = await run(
      Buy(), way, [.idempotencyKey("key", failures: true), .timeout(.zero)])
    #expect(late.dispatchError?.code == .timedOut)
    let veto = RecordingMiddleware(will: { _, _, _ in throw Unavailable() })
    dispatcher.register(middleware: veto)
    let failed = await run(Buy(), way, .idempotencyKey("key", failures: true))
    #expect(failed.dispatchError?.code == .middlewareFailed)
    dispatcher.unregister(middleware: veto)
    #expect(await run(Buy(), way, .idempotencyKey("key", failures: true)).isSuccess)
    #expect(shop.model == ["tea"])
  }

  @Test(arguments: Way.all)
  func areForgottenIfNothingHasRun(_ way: Way) async throws {
    dispatcher.unregister(store: shop)
    let early = await run(Buy(), way, .idempotencyKey("key"))
    #expect(early.isSuccess && !early.hasResponders)
    #expect(dispatcher.idempotencyKeys.count == 0)
    dispatcher.register(store: shop)
    let again = await run(Buy(), way, .idempotencyKey("key"))
    #expect(try again.reply("shop") as Int == 1)
    #expect(dispatcher.idempotencyKeys.count == 1)
  }

  @Test(arguments: [true, false])
  func ofListsAreForgottenIfNothingHasRun(isPartKnown: Bool) async {
    dispatcher.unregister(store: shop)
    dispatcher.register(
      store: Store(identifier: "slow", model: 0) {
        On(SlowBuy.self) { count, _ in
          count += 1
          return count
        }
      })
    let actions: [any ActionType] = isPartKnown ? [Buy(), SlowBuy()] : [Buy(), Buy(item: "milk")]
    let early = await dispatcher.dispatch(actions: actions, options: .idempotencyKey("key")).result
    #expect(early.isSuccess)
    #expect(dispatcher.idempotencyKeys.count == (isPartKnown ? 1 : 0))
  }

  @Test(arguments: Way.all)
  func areRememberedIfAnEffectFollows(_ way: Way) async {
    dispatcher.unregister(store: shop)
    let runs = Recorder<String>()
    dispatcher.register(effect: Effect(Buy.self) { buy, _ in runs.record(buy.item) })
    for _ in 0..<2 { #expect(await run(Buy(), way, .idempotencyKey("key")).isSuccess) }
    _ = await runs.first(1)
    await dispatcher.drain()
    #expect(runs.all == ["tea"])
  }

  @Test(arguments: [Dispatcher.Mode.async, .serial, .serial(lane: "a")])
  func ofListsAreRememberedIfAnEffectFollows(mode: Dispatcher.Mode) async {
    dispatcher.unregister(store: shop)
    let runs = Recorder<String>()
    dispatcher.register(effect: Effect(Buy.self) { buy, _ in runs.record(buy.item) })
    for _ in 0..<2 {
      let actions: [any ActionType] = [BuyInABlock(), Buy()]
      let handle = dispatcher.dispatch(
        actions: actions, mode: mode, options: .idempotencyKey("key"))
      #expect(await handle.result.isSuccess)
    }
    await dispatcher.drain()
    #expect(runs.all == ["tea"])
  }

  /// It could be registered again, and would run for a repeat.
  @Test func areRememberedIfAnEffectIsUnregisteredOnceItHasRun() async {
    dispatcher.unregister(store: shop)
    let runs = Recorder<String>()
    dispatcher.registerForOneRun(of: Buy.self) { runs.record($0.item) }
    await onOwnThread { [dispatcher] in
      _ = dispatcher.dispatch(Buy(), mode: .sync, options: .idempotencyKey("key"))
    }
    dispatcher.register(effect: Effect(Buy.self) { buy, _ in runs.record(buy.item) })
    #expect(await dispatcher.send(Buy(), options: .idempotencyKey("key")).isSuccess)
    await dispatcher.drain()
    #expect(runs.all == ["tea"])
  }

  @Test(arguments: Way.all)
  func areForgottenIfAnEffectFollowsOnlyTheActionWithoutItsWrapping(_ way: Way) async {
    dispatcher.unregister(store: shop)
    let runs = Recorder<String>()
    dispatcher.register(effect: Effect(Buy.self) { buy, _ in runs.record(buy.item) })
    let wrapped = HandledAction(Buy())
    #expect(await run(wrapped, way, .idempotencyKey("key")).isSuccess)
    #expect(dispatcher.idempotencyKeys.count == 0 && runs.count == 0)
  }

  @Test(arguments: Way.all)
  func rememberAChangeWhoseDeadlineHasPassedMeanwhile(_ way: Way) async {
    dispatcher.register(
      store: Store(identifier: "slow", model: 0) { [clock] in
        On(SlowBuy.self) { count, _ in
          count += 1
          clock.advance(by: .seconds(2))
          return count
        }
      })
    let late = await run(SlowBuy(), way, [.idempotencyKey("key"), .timeout(.seconds(1))])
    #expect(late.dispatchError?.code == .timedOut)
    // Until its block has ended, a repeat ends as timed out.
    while case .inFlight? = dispatcher.idempotencyTable.answer("key") { await Task.yield() }
    let again = await run(SlowBuy(), way, .idempotencyKey("key"))
    #expect(again.replies(to: SlowBuy.self) == ["slow": 1])
  }

  private struct SlowBuy: ActionType {
    typealias Reply = Int
  }

  @Test func makeAnActionAtomicThatOnlyReduces() async {
    dispatcher.register(
      store: Store(identifier: "till", model: 0) {
        On(Buy.self) { sum, buy in
          sum += 1
          if buy.item == "gold" { throw Unavailable() }
          return sum
        }
      }, waitFor: ["shop"])
    let result = await dispatcher.send(Buy(item: "gold"), options: .idempotencyKey("key"))
    #expect(result.error is Unavailable)
    #expect(shop.model.isEmpty)
    await dispatcher.send(Buy(item: "gold"))
    #expect(shop.model == ["gold"], "Without a key it is not.")
  }

  @Test func areForgottenAfterTheirTime() async {
    let key = DispatchOptions.idempotencyKey("key", remembered: .seconds(10))
    await dispatcher.send(Buy(), options: key)
    clock.advance(by: .seconds(9))
    await dispatcher.send(Buy(), options: key)
    #expect(shop.model.count == 1)
    #expect(dispatcher.idempotencyKeys.count == 1)
    clock.advance(by: .seconds(1))
    await dispatcher.send(Buy(), options: key)
    #expect(shop.model.count == 2)
  }

  @Test func areBoundedInNumber() async {
    dispatcher.idempotencyKeys.capacity = 100
    for number in 0..<10_000 {
      await dispatcher.send(
        Buy(), options: .idempotencyKey(number, remembered: .seconds(1 + number)))
    }
    #expect(dispatcher.idempotencyKeys.count <= 101)
    await dispatcher.send(Buy(), options: .idempotencyKey(9_990))
    #expect(shop.model.count == 10_000)
    dispatcher.idempotencyKeys.capacity = -1
    #expect(dispatcher.idempotencyKeys.count == 0)
  }

  @Test func canBeForgotten() async {
    await dispatcher.send(Buy(), options: .idempotencyKey("key"))
    #expect(dispatcher.idempotencyKeys.forget("key"))
    #expect(!dispatcher.idempotencyKeys.forget("key"))
    await dispatcher.send(Buy(item: "milk"), options: .idempotencyKey("key"))
    #expect(shop.model == ["tea", "milk"])
  }

  @Test func rememberNothingIfTheTimeIsZero() async {
    for period in [Duration.zero, .seconds(-1)] {
      await dispatcher.send(Buy(), options: .idempotencyKey("key", remembered: period))
    }
    #expect(shop.model.count == 2)
    let key = DispatchOptions.idempotencyKey("key", remembered: .seconds(Int64.max))
    for _ in 0..<2 { await dispatcher.send(Buy(), options: key) }
    #expect(shop.model.count == 3)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func ofAListAreRememberedAsAWhole(_ mode: Dispatcher.Mode) async {
    let dispatcher = dispatcher
    let run: @Sendable () -> DispatchHandle = {
      dispatcher.dispatch(
        actions: [Buy(), Buy(item: "milk")] as [any ActionType], mode: mode,
        options: .idempotencyKey("key"))
    }
    for _ in 0..<2 {
      let result =
        mode == .sync ? await onOwnThread { run().resultIfEnded! } : await run().result
      #expect(result.steps.count == 2 && result.isSuccess)
    }
    #expect(shop.model == ["tea", "milk"])
    let others: [[any ActionType]] = [[Buy()], [Buy(), Buy(item: "tea")], []]
    for other in others {
      let result = await dispatcher.dispatch(actions: other, options: .idempotencyKey("key")).result
      #expect(result.dispatchError?.code == .idempotencyKeyReused)
    }
    let single = await dispatcher.send(Buy(), options: .idempotencyKey("key"))
    #expect(single.dispatchError?.code == .idempotencyKeyReused)
  }

  @Test func ofListsThatAreDispatchedInAnExclusiveSectionAreComparedActionByAction() async {
    let other = dispatcher.register(store: Store(identifier: "other", model: 0) {})
    let lists = [[Buy()], [Buy(item: "milk")], [Buy()]]
    let handles = Recorder<DispatchHandle>()
    other.updateModel { _ in
      for list in lists {
        handles.record(dispatcher.dispatch(actions: list, options: .idempotencyKey("key")))
      }
    }
    var codes: [DispatchError.Code?] = []
    for handle in handles.all { codes.append(await handle.result.dispatchError?.code) }
    #expect(codes == [nil, .idempotencyKeyReused, nil])
    let again = await dispatcher.dispatch(actions: [Buy()], options: .idempotencyKey("key")).result
    #expect(again.isSuccess)
    #expect(shop.model == ["tea"])
  }

  @Test func needNoUnitOfALimit() async {
    let limit = DispatchLimit(1, overflow: .reject)
    let options: DispatchOptions = [.idempotencyKey("key"), .limited(by: limit)]
    await dispatcher.send(Buy(), options: options)
    let free = Latch()
    registerHolds()
    let holder = dispatcher.dispatch(action: Hold(free: free), options: .limited(by: limit))
    #expect(await dispatcher.send(Buy(), options: options).isSuccess)
    free.open()
    #expect(await holder.result.isSuccess)
  }

  @Test(arguments: Way.all)
  func giveARepeatItsResultThoughAnotherOfItsSkippingKeyIsInFlight(_ way: Way) async {
    let options: DispatchOptions = [.idempotencyKey("order 7"), .skippedIfInFlight("bank")]
    let first = await run(Buy(), way, options)
    let free = Latch()
    registerHolds()
    let holder = dispatcher.dispatch(
      action: Hold(free: free),
      options: [.idempotencyKey("order 8"), .skippedIfInFlight("bank")])
    let again = await run(Buy(), way, options)
    #expect(again.isSuccess && again.dispatchID == first.dispatchID)
    let new = await run(
      Buy(item: "milk"), way, [.idempotencyKey("order 9"), .skippedIfInFlight("bank")])
    #expect(new.dispatchError?.code == .skipped)
    free.open()
    #expect(await holder.result.isSuccess)
    #expect(shop.model == ["tea"])
  }

  @Test func areComparedByTheirTexts() async {
    await dispatcher.send(Buy(), options: .idempotencyKey("caf\u{e9}"))
    await dispatcher.send(Buy(), options: .idempotencyKey("cafe\u{301}"))
    await dispatcher.send(Buy(), options: .idempotencyKey("5"))
    await dispatcher.send(Buy(), options: .idempotencyKey(5))
    #expect(shop.model.count == 2)
  }
}
