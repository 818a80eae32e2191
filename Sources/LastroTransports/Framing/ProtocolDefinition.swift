// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// Names a protocol: the key under which its metadata is found; Network framework's `NWProtocolDefinition`.
///
/// Two are equal only when they are one and the same object. Keep one for each protocol, in a `static let`.
public final class ProtocolDefinition: Sendable, Hashable, CustomStringConvertible {
  /// The protocol's name, for logs and errors.
  public let name: String
  let implementation: (any ProtocolFramerImplementation.Type)?

  /// Names a protocol whose framer is `implementation`.
  public init(implementation: any ProtocolFramerImplementation.Type) {
    name = implementation.label
    self.implementation = implementation
  }

  /// Names a protocol that is not a framer. Its options are refused in a stack of application protocols.
  public init(name: String) {
    self.name = name
    implementation = nil
  }

  /// Whether both are the same object.
  public static func == (lhs: ProtocolDefinition, rhs: ProtocolDefinition) -> Bool { lhs === rhs }
  /// Hashes the identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
  /// The name.
  public var description: String { name }
}

/// How a protocol is to behave on one connection; Network framework's `NWProtocolOptions`. They go into
/// ``ConnectionParameters/ProtocolStack/applicationProtocols``.
///
/// They may be a class, so that they can be changed after they were put into parameters; connections read them when
/// started.
public protocol ProtocolOptions: Sendable {
  /// The protocol that the options are for.
  var definition: ProtocolDefinition { get }
}

/// What a protocol has to say about one message; Network framework's `NWProtocolMetadata`.
///
/// ``ProtocolFramer/Message`` is one, with keys and values. A protocol may have its own type, which a framer finds at
/// ``ProtocolFramer/Message/attachment``.
public protocol ProtocolMetadata: AnyObject, Sendable {
  /// The protocol that the metadata belong to.
  var definition: ProtocolDefinition { get }
}
