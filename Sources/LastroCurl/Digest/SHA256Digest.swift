// SPDX-License-Identifier: Apache-2.0

internal import CLastro

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// SHA-256 (FIPS 180-4) over OpenSSL's EVP, fed piece by piece. For one thread at a time.
public final class SHA256Digest {
  private let context: OpaquePointer

  /// Starts a digest. `nil` when OpenSSL has no memory, or no SHA-256 (a broken provider set-up).
  public init?() {
    guard let context = clastro_sha256_new() else { return nil }
    self.context = context
  }

  deinit { clastro_sha256_free(context) }

  /// Adds bytes.
  public func update(_ bytes: some ContiguousBytes) {
    bytes.withUnsafeBytes { buffer in
      if let base = buffer.baseAddress { clastro_sha256_update(context, base, buffer.count) }
    }
  }

  /// The 32 bytes of the digest. Call it once, at the end.
  public func finalize() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
      if let base = buffer.baseAddress {
        clastro_sha256_finish(context, base)
        count = 32
      }
    }
  }
}
