import Programs
import Synchronization

/// The service's connection to the bank outside: charges go out on standard output, answers come in on standard input.
final class Gateway: Sendable {
  struct Refused: Error {}

  private let waiting = Mutex<[String: CheckedContinuation<Bool, Never>]>([:])

  /// Charges for an order; throws if the bank refuses, or its answer is lost.
  func charge(_ order: Int, key: String) async throws {
    let isCharged = await withCheckedContinuation { continuation in
      let other = waiting.withLock { $0.updateValue(continuation, forKey: key) }
      if other != nil { Cashier.end("two attempts at once with the key \(key)") }
      say("charge \(order) \(key)")
    }
    if !isCharged { throw Refused() }
  }

  func answered(_ key: String, _ isCharged: Bool) {
    // An answer to the process before this one finds nobody.
    waiting.withLock { $0.removeValue(forKey: key) }?.resume(returning: isCharged)
  }

  var keys: [String] { waiting.withLock { $0.keys.sorted() } }

  /// Ends all charges that wait for an answer.
  func end() {
    let all = waiting.withLock { waiting in
      defer { waiting = [:] }
      return waiting.values.map { $0 }
    }
    for continuation in all { continuation.resume(returning: false) }
  }
}
