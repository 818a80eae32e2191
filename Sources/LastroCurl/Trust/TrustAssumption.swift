// SPDX-License-Identifier: Apache-2.0

/// What the trust code takes for granted of libcurl and OpenSSL. ``TrustSelfCheck`` tries each; a library that differs makes no
/// connection whose peer a judge has to accept.
enum TrustAssumption: String, CaseIterable, Sendable {
  /// A key, a certificate, and a port of 127.0.0.1.
  case server = "a TLS server to try the rest with can be set up in this process"
  /// What Lastro does to a context is done by the library that uses it.
  case sameOpenSSL = "libcurl speaks TLS by the OpenSSL that Lastro is linked with"
  /// Else a connection would come about that knows no judge.
  case hook = "libcurl calls CURLOPT_SSL_CTX_FUNCTION once for each TLS connection, before its handshake"
  /// The callback that the hook sets is neither replaced nor ignored.
  case verification = "what the verification callback refuses is not connected to, and nothing is sent to it"
  /// `X509_VERIFY_PARAM_set1_host`.
  case hostName = "X509_verify_cert refuses a certificate for another host"
  /// `CURLINFO_TLS_SSL_PTR`.
  case connection = "in CURLOPT_PREREQFUNCTION libcurl tells which TLS connection the request is to be sent on"
  /// Also on a connection that was used before.
  case prereq = "libcurl calls CURLOPT_PREREQFUNCTION before it sends anything, on new and on pooled connections"
  case prereqStops = "nothing is sent when CURLOPT_PREREQFUNCTION says so"
  /// A resumed session shows no certificate.
  case noResumption = "no TLS session is resumed where CURLOPT_SSL_SESSIONID_CACHE is 0"
  /// `CURLSSLOPT_ALLOW_BEAST` for proxies alone.
  case proxyMark = "an option of CURLOPT_PROXY_SSL_OPTIONS is set in the contexts of https proxies, and of no others"
}
