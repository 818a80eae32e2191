// SPDX-License-Identifier: Apache-2.0

extension Network {
  /// A connection of an engine was opened, got another state, or was closed.
  public struct ConnectionChange: Sendable, Hashable {
    /// What a connection is doing, in OpenTelemetry's words.
    public enum State: String, Sendable, Hashable {
      /// It carries a request, or was opened for one.
      case active
      /// It waits for the next request.
      case idle
    }

    /// The server; the proxy, where requests for many servers share the connection.
    public var origin: Origin
    /// What it was doing; `nil` where it was opened.
    public var from: State?
    /// What it is doing; `nil` where it was closed.
    public var to: State?
    /// How long it has stood.
    public var age: Duration

    /// Makes a change; for tests of what is told of it.
    public init(origin: Origin, from: State?, to: State?, age: Duration) {
      (self.origin, self.from, self.to, self.age) = (origin, from, to, age)
    }
  }
}
