import Logging
import Metrics
import ServiceLifecycle

/// Carries out the payments of the outbox, each until the gateway has answered.
actor Payments: Service {
  private let outbox: Outbox
  private let gateway: Gateway
  private let shop: Shop
  private let logger: Logger
  private let durations = Timer(label: "shop_gateway_call_seconds")
  private let failures = Counter(label: "shop_gateway_failures")
  private let breaker = Gauge(label: "shop_gateway_breaker_open")

  private var gate = Gate()
  private var turn: CheckedContinuation<Void, Never>?  // of the loop, which waits for a call to end

  init(outbox: Outbox, gateway: Gateway, shop: Shop, logger: Logger) {
    self.outbox = outbox
    self.gateway = gateway
    self.shop = shop
    self.logger = logger
  }

  /// Runs until the service ends.
  ///
  /// Calls under way end first; the table keeps the others.
  func run() async throws {
    await withDiscardingTaskGroup { group in
      for await payment in outbox.payments.cancelOnGracefulShutdown() {
        guard await admit() else { break }
        group.addTask { await self.carryOut(payment) }
      }
    }
  }

  /// Waits until the gateway may be called.
  ///
  /// Returns false if the service ends.
  private func admit() async -> Bool {
    while !Task.isShuttingDownGracefully {
      switch gate.enter(at: .now) {
      case .go: return true
      case .wait(let time): try? await Task.sleep(until: time)
      case .waitForCall: await withCheckedContinuation { turn = $0 }
      }
    }
    return false
  }

  private func carryOut(_ payment: Payment) async {
    var payment = payment
    do {
      let answer = try await call(payment)
      try await shop.settle(payment, answer: answer)
    } catch {
      payment.failures += 1
      logger.debug(
        "A payment failed.",
        metadata: [
          "order": "\(payment.order)", "kind": "\(payment.kind)", "error": "\(error)",
          "failures": "\(payment.failures)",
        ])
      let pause = payment.backoff
      try? await cancelWhenGracefulShutdown { try await Task.sleep(for: pause) }
      outbox.add(payment)
    }
  }

  private func call(_ payment: Payment) async throws -> Gateway.Answer {
    let start = ContinuousClock.now
    do {
      let answer = try await gateway.send(payment)
      durations.record(duration: .now - start)
      leave(succeeded: true)
      return answer
    } catch {
      failures.increment()
      leave(succeeded: false)
      throw error
    }
  }

  private func leave(succeeded: Bool) {
    let wasOpen = gate.isOpen
    gate.leave(succeeded: succeeded, at: .now)
    if gate.isOpen != wasOpen {
      breaker.record(gate.isOpen ? 1 : 0)
      logger.warning(
        gate.isOpen ? "The gateway fails; it gets a pause." : "The gateway answers again.")
    }
    turn?.resume()
    turn = nil
  }
}
