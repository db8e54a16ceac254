import Foundation
import Synchronization

/// The request to end the replays early: producers read it before each action.
///
/// A signal handler may make it, since that only writes an atomic.
final class Stop: Sendable {
  /// The origin of the request.
  enum Reason: Equatable, Sendable {
    case deadline
    case signal(Int32)
  }

  /// The request: zero for none, -1 for the deadline, otherwise a signal's number.
  private let word = Atomic<Int32>(0)

  var isRequested: Bool { word.load(ordering: .relaxed) != 0 }

  var reason: Reason? {
    switch word.load(ordering: .relaxed) {
    case 0: nil
    case -1: .deadline
    case let number: .signal(number)
    }
  }

  /// Makes the request; false if there was one before, whose reason counts.
  @discardableResult
  func request(_ reason: Reason) -> Bool {
    let value: Int32 =
      switch reason {
      case .deadline: -1
      case .signal(let number): number
      }
    return word.compareExchange(expected: 0, desired: value, ordering: .relaxed).exchanged
  }
}

extension Stop.Reason: CustomStringConvertible {
  var description: String {
    switch self {
    case .deadline: "deadline"
    case .signal(SIGINT): "SIGINT"
    case .signal(SIGTERM): "SIGTERM"
    case .signal(let number): "signal \(number)"
    }
  }

  /// The code with which the program exits after such a request.
  var exitCode: ExitCode {
    switch self {
    case .deadline: .temporaryFailure
    case .signal(SIGTERM): .terminated
    case .signal: .interrupted
    }
  }
}
