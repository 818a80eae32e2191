// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Lastro
@testable import LastroTunnels

extension ErrorTexts {
  static func shadowsocks() throws -> Self {
    var texts = Self()
    for text in [
      "x", "ss://a:1", "ss://@a:1", "ss://%zz@a:1", "ss://!!!@a:1", "ss://aes-256-gcm@a:1", "ss://aes-256-gcm:@a:1",
      "ss://YWVzLTI1Ni1nY20@a:1", "ss://rc4-md5:x@a:1", "ss://2022-blake3-aes-256-gcm:x@a:1", "ss://none:x@a:1",
      "ss://aes-256-gcm:x@a:1?plugin=y", "ss://aes-256-gcm:x@a b:1", "ss://aes-256-gcm:x@a:70000",
      "ss://aes-256-gcm:x@a",
    ] {
      texts.provoke({ try ShadowsocksServer(text) })
    }
    texts.provoke(
      { try ShadowsocksServer(host: "1::2::3", port: 1, method: .aes128GCM, password: "x") },
      { try ShadowsocksServer(host: "a", port: 1, method: .aes128GCM, password: "") })
    for failure in [ShadowsocksFailure.noMD5, .cryptoUnavailable] { texts.provoke({ throw failure.configuring }) }
    texts.provoke({ throw ShadowsocksFailure.cryptoUnavailable.dialing })
    let server = try ShadowsocksServer(host: "proxy.example", port: 8388, method: .aes256GCM, password: "secret")
    for failure in [
      ShadowsocksFailure.wrongKey, .wrongFirstPayload, .reflected, .wrongChunk, .truncated, .counterExhausted,
      .cryptoUnavailable,
    ] {
      texts.provoke({ throw failure.carrying(of: server.name, isUsed: true) })
    }
    let lost = TransportError(stage: .response, code: .connectionLost, message: "the connection was reset")
    texts.provoke(
      { throw TransportError.shadowsocksRefused(by: server.name, isUsed: true) },
      { throw lost.beforeShadowsocksAnswer(of: server.name, isUsed: true) },
      {
        throw TransportError.idleStream(within: .seconds(10)).beforeShadowsocksAnswer(of: server.name, isUsed: true)
      })
    return texts
  }
}
