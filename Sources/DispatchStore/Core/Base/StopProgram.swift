/// Stops the program because of a programmer's mistake: writes the message to standard error, and traps.
///
/// The message appears in release builds, too, unlike that of `precondition` and `preconditionFailure`.
package func stopProgram(
  _ message: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
) -> Never {
  fatalError(message(), file: file, line: line)
}
