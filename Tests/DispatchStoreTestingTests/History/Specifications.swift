import DispatchStoreTesting

/// One value, written and read.
struct Register: SequentialSpecification {
  enum Operation: Sendable, Hashable, CustomStringConvertible {
    case read
    case write(Int)

    var description: String {
      switch self {
      case .read: "read"
      case .write(let value): "write(\(value))"
      }
    }
  }
  enum Response: Sendable, Equatable, CustomStringConvertible {
    case value(Int)
    case done

    var description: String {
      switch self {
      case .value(let value): "\(value)"
      case .done: "done"
      }
    }
  }

  let initialState = 0
  /// Whether `isReadOnly` returns true for reads.
  var knowsReads = true

  func apply(_ operation: Operation, to state: inout Int) -> Response {
    switch operation {
    case .read: return .value(state)
    case .write(let value):
      state = value
      return .done
    }
  }

  func isReadOnly(_ operation: Operation) -> Bool { knowsReads && operation == .read }
}

/// A first in, first out queue that answers "ok", an element or "empty".
struct Queue: SequentialSpecification {
  enum Operation: Sendable, CustomStringConvertible {
    case enqueue(String)
    case dequeue

    var description: String {
      switch self {
      case .enqueue(let element): "enqueue(\(element))"
      case .dequeue: "dequeue"
      }
    }
  }

  let initialState: [String] = []

  func apply(_ operation: Operation, to state: inout [String]) -> String {
    switch operation {
    case .enqueue(let element):
      state.append(element)
      return "ok"
    case .dequeue: return state.isEmpty ? "empty" : state.removeFirst()
    }
  }
}

/// Responds to each increment with the count after it.
struct CounterSpecification: SequentialSpecification {
  enum Operation: Sendable { case increment }

  let initialState = 0

  func apply(_ operation: Operation, to state: inout Int) -> Int {
    state += 1
    return state
  }
}

extension HistoryRecorder where Operation == Register.Operation, Response == Register.Response {
  /// A history in which operations overlap as they do in the text: a call is "p1 w1" or "p1 r", its
  /// return "p1 ok", or "p1 1" with what was read.
  static func history(_ events: String...) -> History<Operation, Response> {
    let recorder = HistoryRecorder()
    var calls: [String: RecordedCall<Operation, Response>] = [:]
    for event in events {
      let words = event.split(separator: " ").map(String.init)
      let (process, what) = (words[0], words[1])
      if let call = calls.removeValue(forKey: process) {
        call.returned(what == "ok" ? .done : .value(Int(what)!))
      } else {
        calls[process] = recorder.begin(
          what == "r" ? .read : .write(Int(what.dropFirst())!), on: process)
      }
    }
    return recorder.history
  }
}

typealias RegisterHistory = HistoryRecorder<Register.Operation, Register.Response>
typealias QueueHistory = HistoryRecorder<Queue.Operation, String>
