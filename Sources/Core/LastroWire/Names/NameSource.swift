// SPDX-License-Identifier: Apache-2.0

/// The resolver that an engine uses. Two sources are equal if they use the same resolver.
package final class NameSource: Sendable, Hashable {
  /// The addresses of a name in canonical text form, best first; empty if there are none.
  package typealias Answer = Result<[String], any Error>

  /// The resolver as it was set, for callers that read it back.
  package let resolver: any Sendable
  private let identity: ObjectIdentifier?
  /// A text that is equal for resolvers with the same answers, also in other processes; `nil` if unknown.
  package let name: String?
  /// Resolves a name and a port. The answer is delivered at most once, on any thread. Call the returned function to
  /// cancel.
  package let ask: @Sendable (String, Int, _ answer: @escaping @Sendable (Answer) -> Void) -> @Sendable () -> Void
  /// Reports that no address of a name could be connected to.
  package let connectionFailed: @Sendable (String, Int) -> Void

  /// Creates a source.
  ///
  /// - Parameters:
  ///   - identity: the identity of the resolver. Without it, each source is unique.
  ///   - name: a text that is equal for resolvers with the same answers. Default `nil`.
  package init(
    _ resolver: any Sendable, identity: ObjectIdentifier?, name: String? = nil,
    ask: @escaping @Sendable (String, Int, @escaping @Sendable (Answer) -> Void) -> @Sendable () -> Void,
    connectionFailed: @escaping @Sendable (String, Int) -> Void
  ) {
    self.resolver = resolver
    self.identity = identity
    self.name = name
    self.ask = ask
    self.connectionFailed = connectionFailed
  }

  package static func == (one: NameSource, other: NameSource) -> Bool {
    one === other || one.identity != nil && one.identity == other.identity
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(identity ?? ObjectIdentifier(self)) }
}
