import Foundation
import ShopCore

/// A bank for tests: it fails as often as it is told, and ignores keys that it knows.
final class FakeBank: PaymentGateway {
  struct IsBusy: Error {}

  private let lock = NSLock()
  nonisolated(unsafe) private var failures: Int  // because `lock` is held at each use
  nonisolated(unsafe) private var charges: [String: Int] = [:]
  nonisolated(unsafe) private var refunds: Set<String> = []

  init(failing failures: Int = 0) { self.failures = failures }

  func charge(_ amount: Int, order: Int, key: String) async throws -> String? {
    try lock.withLock {
      try failSometimes()
      if amount > 1_000 { return nil }
      charges[key] = amount
      return "receipt \(order)"
    }
  }

  func refund(receipt: String, order: Int, key: String) async throws {
    try lock.withLock {
      try failSometimes()
      refunds.insert(key)
    }
  }

  /// The number of charges and of refunds.
  var counts: [Int] { lock.withLock { [charges.count, refunds.count] } }

  private func failSometimes() throws {
    guard failures > 0 else { return }
    failures -= 1
    throw IsBusy()
  }
}
