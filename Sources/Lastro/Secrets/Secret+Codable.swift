// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension Secret: Decodable {
  /// Takes a string.
  ///
  /// - Throws: what the decoder throws where there is none; it names no value.
  public init(from decoder: any Decoder) throws { self.init(try decoder.singleValueContainer().decode(String.self)) }
}

extension Secret: Encodable {
  /// For the `userInfo` of an encoder: `true` there has secrets encoded as they are. `JSONEncoder` has
  /// `revealsSecrets` for it.
  public static let revealingKey = CodingUserInfoKey(rawValue: "Lastro.revealsSecrets")

  /// Encodes ``Redaction/mask``, so that a model that is logged or stored as JSON gives nothing away.
  ///
  /// The text itself is encoded by `RequestBody.json(_:encoder:)`, which is there to send it, and by encoders whose
  /// `userInfo` has `true` for ``revealingKey``.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let collector = SecretCollector.current {
      collector.add(self)
      try container.encode(reveal())
    } else {
      let isRevealed = Self.revealingKey.flatMap { encoder.userInfo[$0] as? Bool } ?? false
      try container.encode(isRevealed ? reveal() : Redaction.mask)
    }
  }
}

extension JSONEncoder {
  /// Whether secrets are encoded as they are. Default `false`: as ``Redaction/mask``.
  public var revealsSecrets: Bool {
    get { Secret.revealingKey.flatMap { userInfo[$0] as? Bool } ?? false }
    set {
      if let key = Secret.revealingKey { userInfo[key] = newValue }
    }
  }
}

/// Keeps the secrets that are encoded into a body. Not the encoder's `userInfo`, for an encoder may be shared.
final class SecretCollector: Sendable {
  @TaskLocal static var current: SecretCollector?

  private struct State {
    var inOrder: [Secret] = []
    var known: Set<Secret> = []
  }

  private let collected = Lock(State())

  func add(_ secret: Secret) {
    collected.withLock { if $0.known.insert(secret).inserted { $0.inOrder.append(secret) } }
  }

  var secrets: [Secret] { collected.withLock { $0.inOrder } }
}
