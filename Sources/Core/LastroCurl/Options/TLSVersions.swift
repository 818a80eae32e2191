// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The validation of the range of TLS versions. libcurl and OpenSSL report an empty range only in the handshake, and as
/// if the server were at fault.
enum TLSVersions {
  static func check(_ options: TLSOptions) throws(TransportError) {
    guard let maximum = options.maximumVersion, maximum < options.minimumVersion else { return }
    throw .invalidTLSOptions(
      "the maximum TLS version, 1.\(maximum.position), is below the minimum, 1.\(options.minimumVersion.position)",
      hint: "raise maximumVersion, or lower minimumVersion")
  }
}
