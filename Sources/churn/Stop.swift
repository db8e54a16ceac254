import Foundation
import Synchronization

/// The request to end the replays early: producers read it before each action.
///
/// A signal handler may make it, since that only writes an atomic.
final class Stop: Sendable {
  /// The number of the signal; zero for none.
  private let number = Atomic<Int32>(0)

  var isRequested: Bool { number.load(ordering: .relaxed) != 0 }

  /// The signal that has requested it.
  var signal: Signal? {
    let number = self.number.load(ordering: .relaxed)
    return number == 0 ? nil : Signal(number)
  }

  /// Makes the request; false if there was one before, whose signal counts.
  @discardableResult
  func request(_ signal: Signal) -> Bool {
    number.compareExchange(expected: 0, desired: signal.number, ordering: .relaxed).exchanged
  }
}

/// A signal that ends the replays early.
struct Signal: Equatable, Sendable {
  let number: Int32

  init(_ number: Int32) {
    self.number = number
  }

  /// The code with which the program exits after such a request.
  var exitCode: ExitCode { number == SIGTERM ? .terminated : .interrupted }
}

extension Signal: CustomStringConvertible {
  var description: String {
    switch number {
    case SIGINT: "SIGINT"
    case SIGTERM: "SIGTERM"
    default: "signal \(number)"
    }
  }
}
