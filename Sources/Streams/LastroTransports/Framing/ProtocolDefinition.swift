// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The identity of a protocol, which is the key of its metadata; it corresponds to `NWProtocolDefinition` of Network
/// framework.
///
/// Two definitions are equal only if they are the same object. Keep one per protocol in a `static let`.
public final class ProtocolDefinition: Sendable, Hashable, CustomStringConvertible {
  /// The protocol's name, for logs and errors.
  public let name: String
  let implementation: (any ProtocolFramerImplementation.Type)?

  /// Creates the definition of a protocol whose framer is `implementation`.
  public init(implementation: any ProtocolFramerImplementation.Type) {
    name = implementation.label
    self.implementation = implementation
  }

  /// Creates the definition of a protocol that is not a framer. Its options are refused in a stack of application
  /// protocols.
  package init(name: String) {
    self.name = name
    implementation = nil
  }

  /// Compares the identities.
  public static func == (lhs: ProtocolDefinition, rhs: ProtocolDefinition) -> Bool { lhs === rhs }
  /// Hashes the identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
  /// The name.
  public var description: String { name }
}

/// The options of a protocol for one connection; they correspond to `NWProtocolOptions` of Network framework. They are
/// added to ``ConnectionParameters/ProtocolStack/applicationProtocols``.
///
/// They may be a class, so that they can change after they were added to parameters; connections read them when they
/// are started.
public protocol ProtocolOptions: Sendable {
  /// The protocol that the options are for.
  var definition: ProtocolDefinition { get }
}

/// The metadata of a protocol for one message; it corresponds to `NWProtocolMetadata` of Network framework.
///
/// ``ProtocolFramer/Message`` is an implementation with keys and values, and ``WebSocketProtocol/Metadata`` is that of
/// WebSocket.
public protocol ProtocolMetadata: AnyObject, Sendable {
  /// The protocol that the metadata belongs to.
  var definition: ProtocolDefinition { get }
}
