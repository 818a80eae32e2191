// SPDX-License-Identifier: Apache-2.0

/// What the trust code takes for granted of libcurl and OpenSSL; the text says what is wrong where it does not hold.
/// ``TrustSelfCheck`` tries each; a library that differs makes no connection whose peer a judge has to accept.
enum TrustAssumption: String, CaseIterable, Sendable {
  /// A key, a certificate, and a port of 127.0.0.1.
  case server = "Lastro could not start the server on 127.0.0.1 that it checks them with"
  /// What Lastro does to a context is done by the library that uses it.
  case sameOpenSSL = "libcurl does not speak TLS by the OpenSSL that Lastro is linked with"
  /// Without it a connection would come about that no judge has seen.
  case hook = "libcurl did not call CURLOPT_SSL_CTX_FUNCTION once for each TLS connection, before its handshake"
  /// The callback that the hook sets is neither replaced nor ignored.
  case verification = "libcurl connected or sent to a server that the verification callback refuses"
  /// `X509_VERIFY_PARAM_set1_host`.
  case hostName = "X509_verify_cert accepted a certificate for another host"
  /// `CURLINFO_TLS_SSL_PTR`.
  case connection = "libcurl did not tell CURLOPT_PREREQFUNCTION which TLS connection the request is to be sent on"
  /// This holds for pooled connections too.
  case prereq = "libcurl sent something before it called CURLOPT_PREREQFUNCTION, on a new or a pooled connection"
  case prereqStops = "libcurl sent a request that CURLOPT_PREREQFUNCTION refused"
  /// A resumed session shows no certificate.
  case noResumption = "libcurl resumed a TLS session although CURLOPT_SSL_SESSIONID_CACHE is 0"
  /// `CURLSSLOPT_ALLOW_BEAST` for proxies alone.
  case proxyMark = "libcurl did not set CURLOPT_PROXY_SSL_OPTIONS for https proxies, and for them alone"
}
