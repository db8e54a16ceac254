import Foundation

/// Prints a line with one call: the program may be killed at any time.
public func say(_ line: String) {
  let line = line.replacingOccurrences(of: "\n", with: " ") + "\n"
  _ = line.withCString { write(1, $0, strlen($0)) }
}

/// The argument after a name; nil without it.
public func argument(_ name: String) -> String? {
  CommandLine.arguments.drop { $0 != name }.dropFirst().first
}
