// C# 7.3 for .NET, Mono and Unity: a game reads items with a token, a server records purchases with an
// account key. Unity's WebGL has no HttpClient: send the same requests with UnityWebRequest there.
using System;
using System.Collections.Generic;
using System.Net.Http;
using System.Runtime.Serialization;
using System.Text;
using System.Threading.Tasks;
#if UNITY_5_3_OR_NEWER
using UnityEngine;
#else
using System.IO;
using System.Runtime.Serialization.Json;
#endif

namespace Tillkit
{
    // Public fields with the names of the JSON fields, as Unity's JsonUtility needs them.
    [Serializable]
    public class Item
    {
        public string id;
        public string name;
        public string display_name;
        public string description;
        public long price; // in minor units: 499 is 4.99 USD
    }

    [Serializable]
    public class Purchase
    {
        public string transaction_id;
        public string sku;
        public string purchased_at; // ISO 8601
        public string user_id;
        public long price; // in minor units
        public string currency;
        public string expires_at; // of a subscription
    }

    [Serializable]
    public class Owned
    {
        public string sku;
        public string type;
        public long quantity;
        [OptionalField] public string expires_at; // null or "" if it never ends
    }

    /// <summary>An answer that is not 2xx. Programs read Status and Code.</summary>
    public class TillException : Exception
    {
        public readonly int Status;
        public readonly string Code;

        public TillException(int status, string code, string detail) : base(detail)
        {
            Status = status;
            Code = code;
        }
    }

    /// <summary>For a game. Open a session with the public key, or pass a token from your server.</summary>
    public class Player
    {
        private readonly string server;
        private readonly string token;

        public Player(string server, string token)
        {
            this.server = server;
            this.token = token;
        }

        public static async Task<Player> Open(string server, string publicKey, string userId)
        {
            var body = new SessionRequest { user_id = userId };
            var url = server + "/api/v1/identity/auth/token";
            var session = await Api.Send<Session>(url, "X-Public-Project-Key", publicKey, Json.Write(body));
            return new Player(server, session.token);
        }

        public async Task<Item[]> Items(string storeId)
        {
            var url = server + "/api/v1/items?store_id=" + Uri.EscapeDataString(storeId);
            return (await Api.Send<ItemPage>(url, "Authorization", "Bearer " + token)).items;
        }
    }

    /// <summary>For your server: the key needs the scopes read and purchases. Never ship it with a game.</summary>
    public class Server
    {
        private readonly string server;
        private readonly string accountKey;

        public Server(string server, string accountKey)
        {
            this.server = server;
            this.accountKey = accountKey;
        }

        /// <summary>Returns added, updated or skipped. May be repeated.</summary>
        public async Task<string> Record(string storeId, Purchase purchase)
        {
            return (await Ask<Recorded>(storeId, "/purchases", Json.Write(purchase))).outcome;
        }

        /// <summary>All items that a user owns, from as many pages as there are.</summary>
        public async Task<List<Owned>> ListOwned(string storeId, string userId)
        {
            var first = "/owned?user_id=" + Uri.EscapeDataString(userId);
            var owned = new List<Owned>();
            var path = first;
            while (true)
            {
                var page = await Ask<OwnedPage>(storeId, path);
                owned.AddRange(page.owned);
                if (string.IsNullOrEmpty(page.next)) return owned;
                path = first + "&cursor=" + Uri.EscapeDataString(page.next);
            }
        }

        private Task<T> Ask<T>(string storeId, string path, string body = null)
        {
            var url = server + "/manage/v1/stores/" + Uri.EscapeDataString(storeId) + path;
            return Api.Send<T>(url, "X-Account-Key", accountKey, body);
        }
    }

    internal static class Api
    {
        // A redirect would send the key to another server.
        private static readonly HttpClient http =
            new HttpClient(new HttpClientHandler { AllowAutoRedirect = false })
            {
                Timeout = TimeSpan.FromSeconds(30),
            };

        /// <summary>Sends GET, or POST with a body. Returns the parsed answer.</summary>
        internal static async Task<T> Send<T>(string url, string header, string credential, string body = null)
        {
            var method = body == null ? HttpMethod.Get : HttpMethod.Post;
            using (var request = new HttpRequestMessage(method, url))
            {
                request.Headers.TryAddWithoutValidation(header, credential);
                if (body != null) request.Content = new StringContent(body, Encoding.UTF8, "application/json");
                using (var response = await http.SendAsync(request))
                {
                    var text = await response.Content.ReadAsStringAsync();
                    if (response.IsSuccessStatusCode) return Json.Read<T>(text);
                    var problem = ReadProblem(text);
                    throw new TillException((int)response.StatusCode, problem.code, problem.detail);
                }
            }
        }

        private static Problem ReadProblem(string text)
        {
            try
            {
                return Json.Read<Problem>(text);
            }
            catch (Exception)
            {
                return new Problem(); // an answer of a proxy may not be JSON
            }
        }
    }

    internal static class Json
    {
#if UNITY_5_3_OR_NEWER
        internal static string Write<T>(T value) { return JsonUtility.ToJson(value); }

        internal static T Read<T>(string text) { return JsonUtility.FromJson<T>(text); }
#else
        internal static string Write<T>(T value)
        {
            using (var stream = new MemoryStream())
            {
                new DataContractJsonSerializer(typeof(T)).WriteObject(stream, value);
                return Encoding.UTF8.GetString(stream.ToArray());
            }
        }

        internal static T Read<T>(string text)
        {
            using (var stream = new MemoryStream(Encoding.UTF8.GetBytes(text)))
            {
                return (T)new DataContractJsonSerializer(typeof(T)).ReadObject(stream);
            }
        }
#endif
    }

#pragma warning disable 0649 // The fields are set by the JSON parser.
    [Serializable]
    internal class SessionRequest { public string user_id; }

    [Serializable]
    internal class Session { public string token; }

    [Serializable]
    internal class ItemPage { public Item[] items; }

    [Serializable]
    internal class Recorded { public string outcome; }

    [Serializable]
    internal class OwnedPage { public Owned[] owned; [OptionalField] public string next; }

    [Serializable]
    internal class Problem { [OptionalField] public string code; [OptionalField] public string detail; }
#pragma warning restore 0649
}
