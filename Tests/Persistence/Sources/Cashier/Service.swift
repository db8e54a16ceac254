import DispatchStore
import DispatchStorePersistence
import Foundation
import Programs
import Synchronization

/// The process that is killed.
///
/// It reads `place ORDER`, `remind ORDER MILLISECONDS`, `drain` and `finish`, and the bank's `charged KEY` and
/// `refused KEY`. It answers `placed ORDER NUMBER`, `scheduled ORDER` and `failed REQUEST`, and asks the bank
/// `charge ORDER KEY`.
struct Service: Sendable {
  static let tickInterval = Duration.milliseconds(400)

  let persistence: Persistence
  let dispatcher: Dispatcher
  let orders: Store<Orders, HandledAction>
  let ledger: Store<Ledger, HandledAction>
  let gateway = Gateway()
  /// The requests without an answer.
  private let pending = DispatchGroup()

  init(_ database: String, lease: Duration) async throws {
    persistence = try await Persistence(
      ServiceDatabase.database(at: database, lease: lease),
      actions: ActionCoder(Place.self, Paid.self, Remind.self, Tick.self))
    dispatcher = Dispatcher(name: "cashier", persistence: persistence)
    dispatcher.tracksInFlight = true
    dispatcher.onWarning { say("warning \($0.kind) \($0.message)") }
    orders = try await dispatcher.register(
      store: Store(identifier: "orders", model: Orders()) {
        On(Place.self) { orders, place in
          orders.lastNumber += 1
          orders.all[place.order, default: .init(number: orders.lastNumber)].placed += 1
          return Receipt(number: orders.lastNumber)
        }
        On(Paid.self) { orders, paid in orders.all[paid.order]?.paid += 1 }
      }, persisted: .elements(\.all))
    ledger = try await dispatcher.register(
      store: Store(identifier: "ledger", model: Ledger()) {
        On(Paid.self) { ledger, paid in ledger.entries[paid.order, default: .init()].payments += 1 }
        On(Remind.self) { ledger, remind in
          ledger.entries[remind.order, default: .init()].reminders += 1
          if unixMilliseconds() < remind.due { ledger.early += 1 }
        }
        On(Tick.self) { ledger, _ in ledger.ticks += 1 }
      }, persisted: .elements(\.entries))
    dispatcher.register(
      effect: DurableEffect(
        "charge", on: Place.self, attempts: 1_000,
        backoff: .exponential(from: .milliseconds(1), upTo: .milliseconds(20)).withFullJitter()
      ) { [gateway] place, context in
        try await gateway.charge(place.order, key: context.key)
        return Paid(order: place.order)
      })
  }

  /// Starts the work that is not requested.
  ///
  /// - Parameter declaresTick: Whether it starts the repeating action as the first process did, or `resumeWork` alone does.
  private func begin(declaresTick: Bool) {
    if declaresTick { dispatcher.every(Self.tickInterval, name: "tick", perform: Tick()) }
    dispatcher.resumeWork()
  }

  /// The one that serves; the lines of the driver go to it.
  private static let present = Mutex<Service?>(nil)

  /// Serves until it is drained, or killed; stands in line again if another process has become the owner.
  static func run(_ database: String, lease: Duration, declaresTick: Bool) async throws {
    Thread.detachNewThread {
      while let line = readLine() {
        present.withLock { $0 }?.receive(line.split(separator: " ").map(String.init))
      }
      // The driver has died.
      exit(1)
    }
    let termination = DispatchSource.makeSignalSource(signal: SIGTERM)
    termination.setEventHandler {
      if let service = present.withLock({ $0 }) { service.receive(["drain"]) } else { exit(0) }
    }
    termination.resume()
    while true {
      say("waiting")
      let service: Service
      do {
        service = try await Service(database, lease: lease)
      } catch let error as PersistenceError where error.code == .notOwner {
        // It was replaced while it was loading.
        say("lost notOwner 0 \(error.message)")
        continue
      } catch let error as PersistenceError
        where error.code == .cannotOpen && error.message.contains("connection to server")
      {
        // The server is restarted, or the machine is busy.
        continue
      }
      present.withLock { $0 = service }
      // The bank's answers can arrive now.
      service.begin(declaresTick: declaresTick)
      say("ready")
      let error = await service.failure()
      present.withLock { $0 = nil }
      say("losing \(error.code)")
      await service.end()
      say("lost \(error.code) \(service.persistence.status.group) \(error.message)")
      if error.code != .notOwner { exit(0) }
    }
  }

  /// Waits until saving fails.
  private func failure() async -> PersistenceError {
    for await status in persistence.statuses where status.hasFailed { return status.lastError! }
    Cashier.end("the statuses have ended")
  }

  /// Waits until all requests are answered, after saving has failed.
  private func end() async {
    dispatcher.shutDown()
    gateway.end()
    await withCheckedContinuation { continuation in
      pending.notify(queue: .global()) { continuation.resume() }
    }
    try? await persistence.close()
  }

  private func receive(_ words: [String]) {
    switch words[0] {
    case "charged": gateway.answered(words[1], true)
    case "refused": gateway.answered(words[1], false)
    case "describe":
      say(
        "warning described \(persistence.status), charges: \(gateway.keys) \(dispatcher.pendingEffects.count) effects \(dispatcher.scheduled)"
      )
    default:
      pending.enter()
      Task {
        await serve(words)
        pending.leave()
      }
    }
  }

  private func serve(_ words: [String]) async {
    do {
      switch words[0] {
      case "place": try await place(Int(words[1])!)
      case "remind": try await remind(Int(words[1])!, after: Int(words[2])!)
      case "drain": try await drain()
      default:
        await allIsDone()
        try await drain()
      }
    } catch {
      let cause = (error as? DispatchError)?.cause ?? error
      let code = (cause as? PersistenceError)?.code.description ?? "-"
      say("failed \(code) \(words.joined(separator: " ")): \(error)")
    }
  }

  private func place(_ order: Int) async throws {
    let options = DispatchOptions.idempotencyKey("order \(order)")
    let receipt = try await dispatcher.send(Place(order: order), options: options).reply
    say("placed \(order) \(receipt.number)")
  }

  private func remind(_ order: Int, after delay: Int) async throws {
    let modes: [Dispatcher.Mode] = [.async, .serial, .serial(lane: "reminders")]
    let handle = dispatcher.dispatch(
      Remind(order: order, due: unixMilliseconds() + Int64(delay)), mode: modes[order % 3],
      options: .delayed(by: .milliseconds(delay), name: "remind \(order)"))
    try await persistence.flush()
    try handle.resultIfEnded?.get()
    say("scheduled \(order)")
  }

  /// Waits until all is paid, and nothing but the tick is scheduled.
  private func allIsDone() async {
    // Each tick looks again.
    for await _ in ledger.stream(.model, initial: true) {
      if orders.model.all.dictionary.values.allSatisfy({ $0.paid > 0 }),
        dispatcher.scheduled.allSatisfy({ $0.name == "tick" })
      {
        return
      }
    }
  }

  private func drain() async throws {
    let report = await dispatcher.drain(timeout: .seconds(20))
    if persistence.status.hasFailed { throw persistence.status.lastError! }
    if !report.isComplete {
      Cashier.end(
        "\(report) \(persistence.status) \(dispatcher.pendingEffects.count) effects, charges: \(gateway.keys)"
      )
    }
    let (pending, letters) = (dispatcher.pendingEffects.count, dispatcher.deadLetters.count)
    try await persistence.close()
    say("closed \(pending) \(letters)")
    exit(0)
  }
}

func unixMilliseconds() -> Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }

/// Prints what is of interest while the program runs.
func note(_ text: String) { FileHandle.standardError.write(Data("\(text)\n".utf8)) }

/// Ends the service with a message.
func end(_ error: String) -> Never {
  say("error \(error)")
  exit(3)
}
