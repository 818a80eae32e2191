// SPDX-License-Identifier: Apache-2.0

internal import CLastro

/// The capabilities of the linked libcurl and OpenSSL (`curl_version_info`), determined at run time.
package struct CurlCapabilities: Sendable {
  /// The version of libcurl, such as `7.88.1`.
  package let curlVersion = String(cString: clastro_version().pointee.version)
  /// libcurl's TLS backend, such as `OpenSSL/3.0.17`.
  package let tlsBackend = clastro_version().pointee.ssl_version.map { String(cString: $0) } ?? "none"
  /// The version of the OpenSSL that is linked here.
  package let openSSLVersion = String(cString: OpenSSL_version(OPENSSL_VERSION))
  /// The file of trusted roots that is used; `nil` if none was found.
  package var caFile: String? { RootFiles.systemFile }
  private let features = clastro_version().pointee.features

  /// Whether libcurl supports HTTP/2 through nghttp2.
  package var http2: Bool { has(CURL_VERSION_HTTP2) }
  /// Whether libcurl supports HTTP/3.
  package var http3: Bool { has(CURL_VERSION_HTTP3) }
  /// Whether libcurl supports internationalised names through libidn2.
  package var internationalNames: Bool { has(CURL_VERSION_IDN) }
  /// Whether libcurl supports Unix sockets.
  package var unixSockets: Bool { has(CURL_VERSION_UNIX_SOCKETS) }
  /// Whether libcurl resolves names without blocking (with threads or c-ares).
  package var asynchronousDNS: Bool { has(CURL_VERSION_ASYNCHDNS) }
  /// Whether libcurl supports IPv6.
  package var ipv6: Bool { has(CURL_VERSION_IPV6) }
  /// Whether libcurl supports HTTPS proxies.
  package var httpsProxy: Bool { has(CURL_VERSION_HTTPS_PROXY) }
  /// Whether `curl_global_init` may be called from any thread.
  package var threadSafeInit: Bool { has(CURL_VERSION_THREADSAFE) }

  /// The capabilities of the libraries that are linked now.
  package static let current = Self()

  private func has(_ feature: Int32) -> Bool { features & feature != 0 }
}
