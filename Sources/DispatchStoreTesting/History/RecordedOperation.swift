import DispatchStore

/// An operation of a history: its process, arguments, call, return and response.
public struct RecordedOperation<Operation: Sendable, Response: Sendable>: Sendable {
  /// An operation's end.
  public struct Return: Sendable {
    /// The time of the return.
    public let stamp: Int
    /// The value that the operation returned.
    public let response: Response

    /// Makes a return.
    public init(stamp: Int, response: Response) {
      self.stamp = stamp
      self.response = response
    }
  }

  /// The process that called the operation: a thread, a task, a client.
  ///
  /// Calls of one process may overlap.
  public let process: String
  /// The operation, with its arguments.
  public let operation: Operation
  /// The time of the call, in logical time: only the order of stamps counts.
  public let callStamp: Int
  /// The return of the operation.
  ///
  /// Nil if it never returned, so that it may or may not have taken effect.
  public let returned: Return?
  /// The number in the history, from 1, in the order of the calls.
  ///
  /// A part of a history keeps the numbers.
  public internal(set) var number = 0

  /// Makes an operation.
  public init(process: String, operation: Operation, callStamp: Int, returned: Return?) {
    if let returned, callStamp > returned.stamp {
      stopProgram(
        """
        \(process) returned from \(operation) at \(returned.stamp), before its call at \(callStamp). \
        Give both the stamps of one clock.
        """)
    }
    self.process = process
    self.operation = operation
    self.callStamp = callStamp
    self.returned = returned
  }

  /// Whether this operation had returned before the other one was called.
  ///
  /// If false, the two overlap, or the other one came first. Operations with equal stamps overlap, so that a coarse
  /// clock makes no history fail.
  public func precedes(_ other: RecordedOperation) -> Bool {
    returned.map { $0.stamp < other.callStamp } ?? false
  }
}

extension RecordedOperation: CustomStringConvertible {
  /// The number, process and operation, and the response if there is one.
  public var description: String {
    "#\(number) \(process): \(operation)" + (returned.map { " → \($0.response)" } ?? ", pending")
  }
}
