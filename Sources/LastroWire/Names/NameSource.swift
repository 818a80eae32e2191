// SPDX-License-Identifier: Apache-2.0

/// Whom an engine asks for the addresses of names. Two are equal where they ask the same resolver.
package final class NameSource: Sendable, Hashable {
  /// Addresses in their canonical text, the best first; empty: the name has none.
  package typealias Answer = Result<[String], any Error>

  /// As it was set, for who reads it back.
  package let resolver: any Sendable
  private let identity: ObjectIdentifier?
  /// A text that is equal for resolvers that give the same answers, in other processes too; `nil` where none is known.
  package let name: String?
  /// Asks for a name and a port. The answer comes once, on any thread, or never. What is given back gives the question
  /// up.
  package let ask: @Sendable (String, Int, _ answer: @escaping @Sendable (Answer) -> Void) -> @Sendable () -> Void
  /// Tells that no address of a name could be connected to.
  package let noteUnreachable: @Sendable (String, Int) -> Void

  /// - Parameters:
  ///   - identity: of the resolver, where it has one; else each source is another.
  ///   - name: equal for resolvers that give the same answers. Default `nil`.
  package init(
    _ resolver: any Sendable, identity: ObjectIdentifier?, name: String? = nil,
    ask: @escaping @Sendable (String, Int, @escaping @Sendable (Answer) -> Void) -> @Sendable () -> Void,
    noteUnreachable: @escaping @Sendable (String, Int) -> Void
  ) {
    self.resolver = resolver
    self.identity = identity
    self.name = name
    self.ask = ask
    self.noteUnreachable = noteUnreachable
  }

  package static func == (one: NameSource, other: NameSource) -> Bool {
    one === other || one.identity != nil && one.identity == other.identity
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(identity ?? ObjectIdentifier(self)) }
}
