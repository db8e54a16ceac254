import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Clients that repeat requests with their keys, before and after a crash.
  static let keys = Scenario(
    name: "keys", summary: "a request with a key changes the state once, whenever it is repeated"
  ) { dispatcher, simulation in
    let database = MemoryDatabase()
    let shop = try await Shop(dispatcher, database)
    let requests = (1...6).map { Request($0, simulation) }
    database.failAtSomeTime(simulation)
    await shop.run(requests)
    try shop.verify(requests)
    database.removeFaults()
    database.crash()
    let next = try await Shop(simulation.makeDispatcher(name: "next"), database)
    for (number, reply) in shop.replies.now where requests[number - 1].kind != .forgotten {
      try check(
        next.sales(of: number) == [1, 1], "\(number) was answered by \(reply), and is lost")
    }
    await next.run(requests)
    try next.verify(requests, after: shop.replies.now)
    let other = await next.dispatcher.send(
      Sell(number: 1, isOther: true), options: .idempotencyKey(1))
    try check(
      next.replies[1] == nil || requests[0].kind == .forgotten
        || other.dispatchError?.code == .idempotencyKeyReused,
      "another action with the same key ended as \(other)")
  }

  /// Requests with two keys, while the program forgets them; at times only one key is remembered.
  static let forgottenKeys = Scenario(
    name: "forgotten-keys", summary: "a restart remembers the keys that the process remembered"
  ) { dispatcher, simulation in
    let database = MemoryDatabase()
    let shop = try await Shop(dispatcher, database)
    if simulation.draw(below: 2) == 0 { dispatcher.idempotencyKeys.capacity = 1 }
    let acts = (1...6).map { _ in
      (key: 1 + simulation.draw(below: 2), forgets: simulation.draw(below: 3) == 0)
    }
    await concurrently(acts.enumerated()) { number, act in
      if act.forgets {
        _ = dispatcher.idempotencyKeys.forget(act.key)
      } else {
        _ = await dispatcher.dispatch(
          action: Sell(number: act.key), mode: .serial(lane: number),
          options: .idempotencyKey(act.key)
        ).result
      }
    }
    // A forgotten key is removed with the next commit.
    await dispatcher.send(Sell(number: 3))
    database.crash()
    let next = try await Shop(simulation.makeDispatcher(name: "next"), database)
    for key in 1...2 {
      let isRemembered = dispatcher.idempotencyKeys.forget(key)
      let isFound = next.dispatcher.idempotencyKeys.forget(key)
      try check(
        isFound == isRemembered, "\(key) was remembered: \(isRemembered), found: \(isFound)")
    }
  }
}

/// A sale, which two stores enter, and answer with the number of sales before it.
private struct Sell: ActionType, Codable, Equatable {
  typealias Reply = Int
  let number: Int
  var isRefused = false
  var isOther = false
}

/// A sale whose stores commit in blocks.
private struct SellSlowly: ActionType, Codable, Equatable {
  typealias Reply = Int
  let number: Int
}

private struct Sales: ModelType, Codable { var all: [Int] = [] }

/// A client's request, which it repeats.
private struct Request: Sendable {
  enum Kind { case sold, refused, soldSlowly, forgotten }

  let number: Int
  let kind: Kind
  let modes: [Dispatcher.Mode]
  /// The repeat that has a deadline, if any.
  let shortest: Int

  init(_ number: Int, _ simulation: SimulationControl) {
    self.number = number
    kind = [.sold, .sold, .sold, .refused, .soldSlowly, .forgotten][simulation.draw(below: 6)]
    let all: [Dispatcher.Mode] = [.async, .sync, .serial(lane: 0), .serial(lane: 1), .mainThread]
    modes = (0..<3).map { _ in all[simulation.draw(below: all.count)] }
    shortest = simulation.draw(below: 6)
  }

  func options(_ attempt: Int) -> DispatchOptions {
    let key = DispatchOptions.idempotencyKey(
      number, remembered: kind == .forgotten ? .zero : .seconds(3_600), failures: number % 2 == 0)
    return attempt == shortest ? [key, .timeout(.milliseconds(1))] : key
  }
}

private final class Shop: Sendable {
  let dispatcher: Dispatcher
  private let stores: [Store<Sales, HandledAction>]
  /// By request: the reply of its first success.
  let replies = Shared([Int: Int]())
  private let faults = Shared([String]())

  init(_ dispatcher: Dispatcher, _ database: MemoryDatabase) async throws {
    self.dispatcher = dispatcher
    dispatcher.onWarning { _ in }
    try await database.open(for: dispatcher)
    var stores: [Store<Sales, HandledAction>] = []
    for identifier in ["goods", "books"] {
      let store = Store<Sales, HandledAction>(identifier: identifier, model: Sales()) {
        On(Sell.self) { sales, sell in
          sales.all.append(sell.number)
          if sell.isRefused, identifier == "books" { throw Broken(description: "refused") }
          return sales.all.count - 1
        }
        Perform(SellSlowly.self) { sell, context in
          await Task.yield()
          return try context.updateModel { sales in
            sales.all.append(sell.number)
            return sales.all.count - 1
          }
        }
      }
      stores.append(try await dispatcher.register(store: store, persisted: .model))
    }
    self.stores = stores
  }

  /// How often each store has entered a sale.
  func sales(of number: Int) -> [Int] {
    stores.map { store in store.model.all.count { $0 == number } }
  }

  func run(_ requests: [Request]) async {
    await concurrently(requests) { request in
      await concurrently(0..<3) { await self.run(request, $0) }
    }
  }

  private func run(_ request: Request, _ attempt: Int) async {
    let (mode, options) = (request.modes[attempt], request.options(attempt))
    if request.kind == .soldSlowly {
      note(request, await send(SellSlowly(number: request.number), mode, options))
    } else {
      let sell = Sell(number: request.number, isRefused: request.kind == .refused)
      note(request, await send(sell, mode, options))
    }
  }

  private func send<Action: ActionType>(
    _ action: Action, _ mode: Dispatcher.Mode, _ options: DispatchOptions
  ) async -> [Int]? where Action.Reply == Int {
    let result = await dispatcher.dispatch(action: action, mode: mode, options: options).result
    return result.isSuccess ? result.replies(to: Action.self).values.sorted() : nil
  }

  private func note(_ request: Request, _ found: [Int]?) {
    guard let found else { return }
    if request.kind == .refused { faults.note("\(request.number) was not refused") }
    guard found.count == 2 else {
      return faults.note("\(request.number) has the replies \(found)")
    }
    let first = replies.with { replies in
      if replies[request.number] == nil { replies[request.number] = found[0] }
      return replies[request.number]!
    }
    if first != found[0], request.kind != .forgotten {
      faults.note("\(request.number) was answered by \(first) and \(found)")
    }
  }

  /// - Parameter former: The replies before a crash.
  func verify(_ requests: [Request], after former: [Int: Int] = [:]) throws {
    try check(faults.now.isEmpty, "\(faults.now)")
    for request in requests where request.kind != .forgotten {
      let (sales, reply) = (sales(of: request.number), replies[request.number])
      // A block's changes are saved without the key if the process dies before its end.
      let isAtMostOnce = request.kind != .soldSlowly || former[request.number] != nil
      try check(
        !isAtMostOnce || sales == [0, 0] || sales == [1, 1],
        "\(request.number) was entered \(sales)")
      guard let reply else { continue }
      try check(!isAtMostOnce || sales == [1, 1], "\(request.number) is lost: \(sales)")
      if let before = former[request.number] {
        try check(before == reply, "\(request.number): \(before), then \(reply)")
      }
    }
  }
}
