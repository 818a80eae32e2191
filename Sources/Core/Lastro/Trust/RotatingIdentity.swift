// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// A client certificate that the application replaces while connections use it, such as one that an agent or an API
/// renews.
///
/// ```swift
/// let identity = RotatingIdentity(TLSOptions.Identity(certificate: .bytes(chain), key: .bytes(key)))
/// engine.connection.tls.identity = TLSOptions.Identity(identity)
/// // When the certificate has been renewed:
/// identity.replace(with: TLSOptions.Identity(certificate: .bytes(newChain), key: .bytes(newKey)))
/// ```
///
/// Requests that begin after ``replace(with:)`` has returned use new connections, which present the new certificate. TLS
/// sessions of the old one are not resumed. Requests in flight finish, as does one that waits for a check of files at
/// that moment. A certificate that cannot be used, such as one that does not match its key, is ignored: connections keep
/// the one before. Files need no rotating identity, because they are checked for changes.
///
/// It may be used from any thread, for any number of stacks.
public final class RotatingIdentity: Sendable {
  private struct Contents {
    var parts: TLSOptions.Identity.Parts
    var revision: UInt64 = 1
    /// The latest contents that could be used, and the revision that they were read for.
    var usable: (content: any AnyObject & Sendable, revision: UInt64)?
  }

  private let contents: Lock<Contents>

  /// Creates a rotating identity.
  ///
  /// - Parameter identity: the first certificate and its key. Of another rotating identity, the current ones are used.
  public init(_ identity: TLSOptions.Identity) { contents = Lock(Contents(parts: identity.parts)) }

  /// Replaces the certificate and its key for all connections that are opened from now on. Does nothing if they are
  /// equal to the current ones.
  ///
  /// - Parameter identity: the next certificate and its key. Of another rotating identity, the current ones are used.
  public func replace(with identity: TLSOptions.Identity) {
    let parts = identity.parts
    contents.withLock { contents in
      guard contents.parts != parts else { return }
      contents.parts = parts
      contents.revision += 1
    }
  }

  /// The number of the current certificate, from 1.
  package var revision: UInt64 { contents.withLock(\.revision) }

  /// The latest contents that could be used, as a transport has read them; `nil` before the first ones. They serve all
  /// transports while a later certificate cannot be used.
  package var usable: (any AnyObject & Sendable)? { contents.withLock(\.usable?.content) }

  /// Stores contents that can be used, unless those of a later certificate are known.
  ///
  /// - Parameter revision: the number of the certificate, taken before it was read.
  package func store(usable content: any AnyObject & Sendable, of revision: UInt64) {
    contents.withLock { contents in
      if let known = contents.usable, known.revision > revision { return }
      contents.usable = (content, revision)
    }
  }

  /// The current certificate and its key.
  var parts: TLSOptions.Identity.Parts { contents.withLock(\.parts) }
}
