/// Stops the program for a mistake of its own: writes the message to standard error, and traps.
///
/// In release builds, too, where `precondition` and `preconditionFailure` write no message.
package func stopProgram(
  _ message: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
) -> Never {
  fatalError(message(), file: file, line: line)
}
