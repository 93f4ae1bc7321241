(SELECT v.place, v.id, IF(v.fault IS NULL, v.arrived, NULL) AS arrived, v.fault,
        ROW_NUMBER() OVER (PARTITION BY v.id, v.fault IS NULL ORDER BY v.place) AS turn
   FROM (SELECT u.place, {each_key_id} AS id, {each_arrived} AS arrived, {each_fault} AS fault
           FROM (SELECT k.place, {key_content} AS content, {payload_content} AS payload,
                        {print_of_digits} AS print, {list_fault} AS fault
                   FROM {key_list} AS k
                   LEFT JOIN {payload_list} AS p ON p.place = k.place
                   LEFT JOIN {print_list} AS f ON f.place = k.place) AS u) AS v)
